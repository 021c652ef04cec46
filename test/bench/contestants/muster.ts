import { join } from 'node:path'
import { build } from 'esbuild'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { Contestant } from './contestant.ts'

/** Our runtime, bundled as we ship. Built anew each time: its sources are what is being worked on. */
export const muster = async (): Promise<Contestant> => {
  const folder = await temporaryFolder('bench-muster')
  await build({
    entryPoints: [join(import.meta.dirname, '../muster/gadget.ts')],
    outfile: join(folder, 'gadget.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minifySyntax: true,
    keepNames: true,
    logLevel: 'error',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
  return {
    id: 'muster',
    name: 'muster',
    modes: ['serve', 'cache-whole', 'cache-projected'],
    command: process.execPath,
    args: [join(folder, 'gadget.mjs')],
  }
}
