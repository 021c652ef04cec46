import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deepTests } from './deep-tests.ts'

test('files with properties, kills at every statement or repetitions do more in a deep run, others don’t', () => {
  const files = deepTests(join(import.meta.dirname, '..', '..'))
  expect(files).toEqual(
    expect.arrayContaining([
      'lib/json-patch/apply.test.ts',
      'test/integration/hyperfleet-api/crash.test.ts',
      'test/integration/fleet/recovery.test.ts',
      'test/e2e/fire/fire.test.ts',
    ]),
  )
  expect(files).not.toContain('hack/testing/tally.test.ts')
})
