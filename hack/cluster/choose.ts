import { CONTROL_PLANE } from '../controlplane/binaries.ts'
import { isBuilt } from '../gobuild/build.ts'
import { SetupError } from '../process/errors.ts'
import { assets } from './assets.ts'
import type { Cluster, ClusterProvider, ClusterRequest, Start } from './cluster.ts'
import { existing } from './existing.ts'
import { kind } from './kind/provider.ts'
import { local } from './local/provider.ts'
import { running } from './running.ts'

export interface Candidate {
  readonly provider: ClusterProvider
  readonly request: ClusterRequest
  /** Completes "Cluster: <title>, ". */
  readonly because: string
}

/** What a choice depends on. */
export interface Facts {
  readonly request: ClusterRequest
  /** `$MUSTER_CLUSTER`: kind, local, or the name of a context. */
  readonly forced: string | undefined
  /** `$KUBEBUILDER_ASSETS`. */
  readonly assets: string | undefined
  /** Whether the binaries of the local control plane are in the cache. */
  readonly built: boolean
}

/**
 * The providers to try, in order; the first that serves is taken. What was asked for on purpose is the only candidate.
 * README.md, "What the commands need", has the order.
 */
export const candidates = ({ request, forced, assets: folder, built }: Facts): readonly Candidate[] => {
  const because = 'as MUSTER_CLUSTER says'
  if (request.kubeconfig !== undefined || request.context !== undefined)
    return [{ provider: existing, request, because: 'as --kubeconfig or --context says' }]
  if (forced === 'kind') return [{ provider: kind, request, because }]
  if (forced === 'local') return [{ provider: local, request, because }]
  if (forced)
    return [
      { provider: existing, request: { context: forced }, because: `as MUSTER_CLUSTER=${forced} names its context` },
    ]

  const inAssets = { provider: assets, request, because: 'as KUBEBUILDER_ASSETS is set' }
  const thatRuns = { provider: running, request, because: 'as it runs already' }
  const fromCache = { provider: local, request, because: 'as its binaries are in the cache' }
  const inDocker = { provider: kind, request, because: 'as Docker is here' }
  const builtNow = { provider: local, request, because: 'built with Go' }
  return [...(folder ? [inAssets] : []), thatRuns, ...(built ? [fromCache, inDocker] : [inDocker, builtNow])]
}

/**
 * Finds or starts a cluster, and says which and why.
 * @throws SetupError when none serves
 */
export const startCluster = async (start: Start): Promise<Cluster> => {
  const facts = {
    request: start.request,
    forced: process.env.MUSTER_CLUSTER,
    assets: process.env.KUBEBUILDER_ASSETS,
    built: isBuilt(CONTROL_PLANE),
  }
  const choices = candidates(facts)
  const reasons: string[] = []
  for (const { provider, request, because } of choices) {
    let reason = await provider.unavailable(request)
    if (reason === undefined) {
      start.say(`Cluster: ${provider.title}, ${because}`)
      try {
        return await provider.start({ ...start, request })
      } catch (error) {
        start.signal?.throwIfAborted()
        reason = (error as Error).message
      }
    }
    // What is set up and can't be used deserves a word, even when something else serves.
    if (choices.length > 1 && provider !== running) start.say(`Skipping ${provider.title}: ${reason.split('\n')[0]}`)
    reasons.push(`${provider.title}${choices.length > 1 ? '' : `, ${because}`}: ${reason}`)
  }
  throw new SetupError(`No cluster to work with:\n${reasons.map((reason) => `  - ${reason}`).join('\n')}`)
}
