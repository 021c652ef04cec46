import { expect, test } from 'vitest'
import { findValueless } from './valueless.ts'

const task = (expression: string) => ({
  preconditions: [{ name: 'p', expression }],
  resources: [{ name: 'config', nested_discoveries: [{ name: 'inner' }] }],
})

test.each([
  ['resources.confg.status.ready', "resources.confg can't ever have a value"],
  ['event.id == env.REGION', "env.REGION can't ever have a value"],
])('ADAPTER-83: a hint at what can never have a value: %s', (expression, message) => {
  const found = findValueless(task(expression), ['ZONE'])
  expect(found).toMatchObject([{ path: 'preconditions[0].expression' }])
  expect(found[0]?.message).toContain(message)
})

test.each([
  'resources.config.status.ready && resources.inner.ok',
  'resources.?confg.hasValue()',
  'has(resources.confg)',
  'env.ZONE == "resources.confg"',
  'event.resources.confg == 1',
])('ADAPTER-83: and none at what may have one: %s', (expression) => {
  expect(findValueless(task(expression), ['ZONE'])).toEqual([])
})

test('ADAPTER-83: also in when_deleting', () => {
  expect(findValueless({ when_deleting: 'resources.x.gone' }, [])).toMatchObject([{ path: 'when_deleting' }])
})
