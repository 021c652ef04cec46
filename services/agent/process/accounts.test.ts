import { mkdir, readFile, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { silent } from '#operator/model/log.ts'
import { openAccounts } from './accounts.ts'

const RANGE = { first: 2_100_000_000, last: 2_100_000_100 }

// AGENT-43
test('an account that could not be written down is given to no placement until it is; those that are written down stay', async () => {
  const file = join(await temporaryFolder('accounts'), 'program-accounts.json')
  const accounts = await openAccounts(file, RANGE, 'agent', silent)
  const one = await accounts.of('one')
  // In the way of the draft, as a full disk would be.
  const draft = `${file}.next`
  await mkdir(draft)
  await expect(accounts.of('two')).rejects.toThrow('EISDIR')
  await expect(accounts.of('two')).rejects.toThrow('EISDIR')
  expect(await accounts.of('one')).toBe(one)
  await rmdir(draft)
  const two = await accounts.of('two')
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ one, two })
})
