/**
 * `npm run build` bundles the program into dist/, with its bill of materials and licences: `node dist/muster.mjs manager`.
 * Outside of a repository --commit and --time say what `muster version` will.
 */
import { join } from 'node:path'
import { Command } from 'commander'
import { checkoutInfo } from '#cmd/build-info.ts'
import { ship } from './build/ship.ts'

const root = join(import.meta.dirname, '..')
const options = new Command('npm run build --')
  .description('Bundles the program into dist/, with its bill of materials and licences: node dist/muster.mjs manager.')
  .option('--commit <hash>', 'what "muster version" will say, outside of a repository')
  .option('--time <time>', 'when that was, RFC 3339')
  .allowExcessArguments(false)
  .parse()
  .opts<{ readonly commit?: string; readonly time?: string }>()
const found = checkoutInfo(root)
const { info, metafile } = await ship(join(root, 'dist'), {
  version: found.version,
  commit: options.commit || found.commit,
  time: options.time || found.time,
})

const sizes = Object.entries(metafile.outputs).map(([file, { bytes }]) => ({ file, bytes }))
for (const { file, bytes } of sizes.toSorted((a, b) => b.bytes - a.bytes)) {
  console.log(`${(bytes / 1024).toFixed(0).padStart(6)} KiB  ${file}`)
}
console.log(`muster ${info.version} (${info.commit})`)
