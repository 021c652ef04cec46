import { expect, test } from 'vitest'
import { openKeys } from './open-keys.ts'

test('a file or folder of keys that is not there is told with the flag that names it', async () => {
  await expect(openKeys('/nonexistent', undefined)).rejects.toThrow(
    /^--fleet-signing-keys: .*\/nonexistent does not exist/,
  )
  await expect(openKeys(undefined, '/nonexistent')).rejects.toThrow(
    /^--fleet-device-keys: .*\/nonexistent does not exist/,
  )
})
