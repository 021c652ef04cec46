/** `npm run build` bundles the program into dist/: `node dist/muster.mjs manager`. */
import { join } from 'node:path'
import { bundle } from './build/bundle.ts'

const root = join(import.meta.dirname, '..')
const { info, metafile } = await bundle(join(root, 'dist'))

const sizes = Object.entries(metafile.outputs).map(([file, { bytes }]) => ({ file, bytes }))
for (const { file, bytes } of sizes.toSorted((a, b) => b.bytes - a.bytes)) {
  console.log(`${(bytes / 1024).toFixed(0).padStart(6)} KiB  ${file}`)
}
console.log(`muster ${info.version} (${info.commit})`)
