/** What carrying out a plan needs, and the one way in which it changes objects. */
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Secret } from '#apis/kubernetes.ts'
import type { Api, Clock, KubeObject, Resource } from '#operator/index.ts'
import type { NamespacedName, PoolObjects } from '../model/observed.ts'
import type { Rejections } from '../observe/rejections.ts'
import type { WriteCache } from '../observe/write-cache.ts'

export interface ExecuteContext {
  readonly api: Api
  readonly clock: Clock
  /** As the pass saw it. */
  readonly pool: ClusterPool
  readonly objects: PoolObjects
  readonly writeCache: WriteCache
  /** Copied beside each new cluster. */
  readonly secrets: readonly Secret[]
  /** Written to: see Observed. */
  readonly rejections: Rejections
  /** Written to: clusters without a lease that are not made yet, by `namespace/name`; see Observed. */
  readonly unfinishedClusters: Map<string, NamespacedName>
}

/** An object as it was read: a write is refused with 409 when it was written since. */
interface Seen {
  readonly name: string
  readonly namespace: string
  readonly resourceVersion: string
}

/** A merge patch of an object as it was seen. @throws ApiError, with 409 when it was written since, NetworkError */
export const patchIfUnchanged = async <O extends KubeObject>(
  { api, writeCache, clock }: Pick<ExecuteContext, 'api' | 'writeCache' | 'clock'>,
  resource: Resource<O>,
  { name, namespace, resourceVersion }: Seen,
  change: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
  subresource?: 'status',
): Promise<O> => {
  const body = { ...change, metadata: { ...change.metadata, resourceVersion } }
  const written = await api.patch(resource, { name, namespace, subresource, type: 'merge', body })
  writeCache.record(resource, written, clock.now())
  return written
}

/** Nobody may have this now: the world is another one than the pass saw. It is not an error; the next pass sees it. */
export class StaleWriteError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'StaleWriteError'
  }
}
