import { join } from 'node:path'
import { build } from 'esbuild'
import { SHIPPED } from '#hack/build/bundle.ts'
import { deployedMemory } from '../deployed.ts'
import { shortFolder } from '../short-folder.ts'
import type { Contestant } from './contestant.ts'

/** Our runtime, bundled as we ship. Built anew each time: its sources are what is being worked on. */
export const muster = async (): Promise<Contestant> => {
  const outfile = join(await shortFolder(), 'gadget.mjs')
  await build({ ...SHIPPED, entryPoints: [join(import.meta.dirname, '../muster/gadget.ts')], outfile })
  return {
    id: 'muster',
    name: 'muster',
    modes: ['serve', 'cache-whole', 'cache-projected'],
    command: process.execPath,
    args: [outfile],
    // A manager with one controller, as the Sentinel is.
    env: deployedMemory('sentinel').env,
  }
}
