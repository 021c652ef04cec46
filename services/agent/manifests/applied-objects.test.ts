import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { readApplied } from './applied-objects.ts'

test('an unreadable record of what was applied is named, with what to do', async () => {
  const folder = join(await temporaryFolder('agent'), 'place')
  await mkdir(folder)
  const placement = { key: 'till.shop.web', deployment: 'shop/web', folder }
  expect(await readApplied(placement)).toEqual({ objects: [], digest: undefined })
  await writeFile(join(folder, 'applied.json'), '{"objects":[')
  await expect(readApplied(placement)).rejects.toThrow(
    `${folder}/applied.json is spoilt, so it is not known what was applied: remove it, and by hand what shop/web does not list any more`,
  )
})
