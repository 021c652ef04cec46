/** Asks Kubernetes why a workload has no pod that runs, in the name of the task's ServiceAccount: CLUSTER-94. */
import { type Api, createApi } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import { type Clock, monotonic } from '#operator/model/clock.ts'
import { defineResource, type KubeObject, type Resource } from '#operator/model/resource.ts'
import {
  type AwaitedPod,
  type CreationEvent,
  type PodProblem,
  type PodWait,
  refusedPod,
  unscheduledPod,
} from '../run/resources/awaited-pods.ts'
import { describeObject, metadataOf } from '../run/resources/object.ts'
import type { JsonObject } from '../task/task.ts'
import { explained } from './explain-kubernetes-errors.ts'
import { formatLabelSelector } from './transport.ts'

type Kind<O> = Resource<KubeObject & O>

const CORE = { group: '', version: 'v1', scope: 'Namespaced', subresources: [] } as const
const Event = defineResource({ ...CORE, plural: 'events', kind: 'Event' }) as Kind<CreationEvent>
const Pod = defineResource({ ...CORE, plural: 'pods', kind: 'Pod' }) as Kind<AwaitedPod>

/** For how long an account that may not read them is not asked for again: rights may come. Milliseconds. */
const FORBIDDEN_PAUSE_MS = 600_000

export class PodProblems {
  readonly #api: Api
  readonly #clock: Clock
  /** Monotonic milliseconds until which nothing is asked, by kind and namespace. */
  readonly #forbidden = new Map<string, number>()

  constructor(transport: Transport, clock: Clock) {
    this.#api = createApi(transport)
    this.#clock = clock
  }

  /** @returns undefined: Kubernetes says nothing, or the account may not read it @throws TaskError, or the signal's reason */
  find(workload: JsonObject, wait: PodWait, signal: AbortSignal): Promise<PodProblem | undefined> {
    const what = `what keeps pods from ${describeObject(workload)} can't be read`
    return explained('DiscoveryFailed', what, signal, () => this.#find(workload, wait, signal))
  }

  async #find(workload: JsonObject, wait: PodWait, signal: AbortSignal): Promise<PodProblem | undefined> {
    const { namespace = '', uid } = metadataOf(workload)
    if (wait === 'creation') {
      const fieldSelector = `involvedObject.uid=${uid},reason=FailedCreate`
      return refusedPod(await this.#list(Event, { namespace, fieldSelector }, signal), this.#clock.now())
    }
    const { spec } = workload as { spec?: { selector?: { matchLabels?: Readonly<Record<string, string>> } } }
    const labels = spec?.selector?.matchLabels ?? {}
    if (Object.keys(labels).length === 0) return undefined
    return unscheduledPod(await this.#list(Pod, { namespace, labelSelector: formatLabelSelector(labels) }, signal))
  }

  async #list<O>(
    resource: Kind<O>,
    where: { readonly namespace: string; readonly fieldSelector?: string; readonly labelSelector?: string },
    signal: AbortSignal,
  ): Promise<readonly O[]> {
    const key = `${resource.kind}/${where.namespace}`
    const now = monotonic(this.#clock)
    if ((this.#forbidden.get(key) ?? now) > now) return []
    this.#forbidden.delete(key)
    try {
      return await Array.fromAsync(this.#api.withLimits({ signal }).list(resource, where))
    } catch (error) {
      if (!isForbidden(error)) throw error
      this.#forbidden.set(key, now + FORBIDDEN_PAUSE_MS)
      return []
    }
  }
}
