/** `npm run pack` makes the package of the runtime, dist/package/muster-VERSION.tgz, which other programs install. */
import { join, relative } from 'node:path'
import { Command } from 'commander'
import { packRuntime } from './runtime-package.ts'

new Command('npm run pack')
  .description('Makes the package of the runtime, dist/package/muster-VERSION.tgz, which other programs install.')
  .allowExcessArguments(false)
  .parse()
const archive = await packRuntime(join(import.meta.dirname, '../../dist/package'))
console.log(`${relative(process.cwd(), archive)}: npm install it, then import 'muster/operator'`)
