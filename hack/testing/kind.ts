/** `npm run test:kind`: what every cluster must do, and GitOps from commit to workload, on kind. Skips where kind is not to be had. */
import { privateKindMissing } from '../cluster/kind/private.ts'

const missing = privateKindMissing()
if (missing !== undefined) console.log(`There is no kind here, so its tests skip. ${missing}`)
process.env.MUSTER_GITOPS_ON = 'kind'
process.argv.splice(2, 0, 'test/conformance/cluster.test.ts', 'test/e2e/argocd')
await import('../test.ts')
