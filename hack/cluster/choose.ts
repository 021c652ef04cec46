import { isBuilt } from '../controlplane/build.ts'
import { assets } from './assets.ts'
import type { Cluster, ClusterProvider, Start, Wanted } from './cluster.ts'
import { existing } from './existing.ts'
import { kind } from './kind/provider.ts'
import { local } from './local/provider.ts'
import { running } from './running.ts'

/** No provider serves: the message has the reason and the mend of each. */
export class NoClusterError extends Error {
  override readonly name = 'NoClusterError'
}

export interface Candidate {
  readonly provider: ClusterProvider
  readonly wanted: Wanted
  /** Completes "Cluster: <title>, ". */
  readonly because: string
}

/** What a choice depends on. */
export interface Facts {
  readonly wanted: Wanted
  /** `$MUSTER_CLUSTER`: kind, local, or the name of a context. */
  readonly forced: string | undefined
  /** `$KUBEBUILDER_ASSETS`. */
  readonly assets: string | undefined
  /** Whether the binaries of the local control plane are in the cache. */
  readonly built: boolean
}

/**
 * The providers to try, in order; the first that serves is taken. What was asked for on purpose is the only candidate.
 * Design: 00-product, Two commands.
 */
export const candidates = ({ wanted, forced, assets: folder, built }: Facts): readonly Candidate[] => {
  const only = (provider: ClusterProvider, because: string, asked = wanted): readonly Candidate[] => [
    { provider, wanted: asked, because },
  ]
  if (wanted.kubeconfig !== undefined || wanted.context !== undefined)
    return only(existing, 'as --kubeconfig or --context says')
  if (forced === 'kind') return only(kind, 'as MUSTER_CLUSTER says')
  if (forced === 'local') return only(local, 'as MUSTER_CLUSTER says')
  if (forced) return only(existing, 'as MUSTER_CLUSTER says', { context: forced })
  const build = { provider: local, wanted, because: 'built with Go' }
  return [
    ...(folder ? only(assets, 'as KUBEBUILDER_ASSETS is set') : []),
    ...only(running, 'as it runs already'),
    ...(built ? only(local, 'as its binaries are in the cache') : []),
    ...only(kind, 'as Docker is here'),
    ...(built ? [] : [build]),
  ]
}

/**
 * Finds or starts a cluster, and says which and why.
 * @throws NoClusterError when none serves
 */
export const startCluster = async (start: Start): Promise<Cluster> => {
  const facts = {
    wanted: start.wanted,
    forced: process.env.MUSTER_CLUSTER,
    assets: process.env.KUBEBUILDER_ASSETS,
    built: isBuilt(),
  }
  const reasons: string[] = []
  for (const { provider, wanted, because } of candidates(facts)) {
    let reason = await provider.unavailable(wanted)
    if (reason === undefined) {
      start.say(`Cluster: ${provider.title}, ${because}`)
      try {
        return await provider.start({ ...start, wanted })
      } catch (error) {
        start.signal?.throwIfAborted()
        reason = (error as Error).message
        start.say(`Cluster: ${provider.title} did not start`)
      }
    }
    reasons.push(`${provider.title}: ${reason}`)
  }
  throw new NoClusterError(`No cluster to work with:\n${reasons.map((reason) => `  - ${reason}`).join('\n')}`)
}
