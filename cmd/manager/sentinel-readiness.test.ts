import { expect, test } from 'vitest'
import { sentinelUnready } from './sentinel-readiness.ts'

const config = (name: string) => ({ metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' } })

test('SENTINEL-41: a manager is ready when the SentinelConfig that --config names exists', () => {
  expect(sentinelUnready('east', [config('west'), config('east')])).toBeUndefined()
  const missing = 'there is no SentinelConfig east: create it, or correct --config'
  expect(sentinelUnready('east', [config('west')])).toBe(missing)
  expect(sentinelUnready('east', undefined)).toBe(missing)
})
