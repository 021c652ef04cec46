import { requireInCi } from '#hack/testing/ci.ts'
import { kindClusterMissing } from './ground/kind/cluster.ts'

/** vitest's globalSetup of the project `kind`: in CI none of its tests is skipped for want of a cluster. */
export default (): void => requireInCi(kindClusterMissing())
