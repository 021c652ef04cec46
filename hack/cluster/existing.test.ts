import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { existing } from './existing.ts'

test.for([
  ['', 'expected a document'],
  ['a: [', 'flow'],
  ['just words', 'it has no kind: Config'],
  ['kind: Pod', 'it has no kind: Config'],
] as const)('a kubeconfig that holds %j is a reason with a remedy', async ([text, reason]) => {
  const kubeconfig = join(await temporaryFolder('kubeconfig'), 'config')
  await writeFile(kubeconfig, text)
  const why = await existing.unavailable({ kubeconfig })
  expect(why).toContain(`${kubeconfig} is no kubeconfig (`)
  expect(why).toContain(reason)
  expect(why).toContain('): give another one with --kubeconfig')
})
