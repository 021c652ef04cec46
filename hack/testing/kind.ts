/** `npm run test:kind`: all tests on a real kubelet. Skips where kind is not to be had. More arguments are those of `npm test`. */
import { kindClusterMissing } from '#test/harness/ground/kind/cluster.ts'

const missing = kindClusterMissing()
if (missing !== undefined)
  console.log(`There is no kind here yet, so its tests skip unless that can be installed. ${missing}`)
process.argv.splice(2, 0, '--project=kind')
await import('../test.ts')
