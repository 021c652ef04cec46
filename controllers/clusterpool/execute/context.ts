/** What carrying out a plan needs, and the one way in which it changes objects. */

import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import type { Secret } from '#apis/kubernetes.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import type { Api, Clock, DeepPartial, KubeObject, Resource } from '#operator/index.ts'
import { CLUSTERPOOL_ERRORS } from '../errors.ts'
import type { NamespacedName } from '../model/names.ts'
import type { PoolObjects } from '../model/observed.ts'
import type { PodNetwork } from '../model/pod-network.ts'
import type { PodSecurityLevel } from '../model/pod-security.ts'
import type { Rejections } from '../observe/rejections.ts'
import type { WriteCache } from '../observe/write-cache.ts'
import type { PreflightSettings } from './probe-api-name.ts'

/** Of what a pool applies. */
export const FIELD_MANAGER = 'muster-clusterpool'

export interface ExecuteContext {
  readonly api: Api
  readonly clock: Clock
  /** As the pass saw it. */
  readonly pool: ClusterPool
  readonly objects: PoolObjects
  readonly writeCache: WriteCache
  /** Copied beside each new cluster. */
  readonly secrets: readonly Secret[]
  readonly preflight: PreflightSettings
  readonly podSecurity: PodSecurityLevel
  readonly podNetwork: PodNetwork
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

/** A merge patch of an object as it was seen; its answer is remembered until the watch shows it. @throws ApiError, with 409 when it was written since, NetworkError */
export const patchIfUnchanged = async <O extends KubeObject>(
  { api, writeCache, clock }: Pick<ExecuteContext, 'api' | 'writeCache' | 'clock'>,
  resource: Resource<O>,
  seen: Seen,
  change: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
  subresource?: 'status',
): Promise<O> => {
  const written = await api.patchIfUnchanged(resource, { metadata: seen }, change as DeepPartial<O>, subresource)
  writeCache.record(resource, written, clock.now())
  return written
}

/** The objects are others than the pass saw, so its step does not apply. It is not an error; the next pass sees them. */
export class StaleWriteError extends errorOf(CLUSTERPOOL_ERRORS, 'StaleWriteError') {}
