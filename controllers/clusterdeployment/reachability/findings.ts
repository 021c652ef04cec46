/** What is known of the API servers of clusters: written by the daemons that look, read by the pass that writes the status. */
import { isDeepStrictEqual } from 'node:util'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { untilAborted } from '#lib/abort/until-aborted.ts'
import type { ConditionInput } from '#operator/model/conditions.ts'
import { type Owner, ownerOf } from '../record/record.ts'

/** What the condition Unreachable says. */
export type Reachability = Pick<ConditionInput, 'status' | 'reason' | 'message'>

export interface Finding {
  /** Of the kubeconfig; undefined when there is none that can be used. */
  readonly apiURL?: string
  readonly unreachable: Reachability
  /** For how long it has not answered, in whole minutes; undefined when it was never reached, or is not looked at. */
  readonly silentSeconds?: number
}

/** Which daemon looked. */
type Looker = 'kubeconfig' | 'probe'

/** The status of a ClusterDeployment has one writer, its pass, so that no condition is lost: what is found wakes it. */
export class Findings {
  readonly #byUid = new Map<string, { readonly owner: Owner; readonly looker: Looker; readonly finding: Finding }>()
  #wake: (owner: Owner) => void = () => {}

  of({ metadata: { uid } }: ClusterDeployment): Finding | undefined {
    return this.#byUid.get(uid)?.finding
  }

  record(object: ClusterDeployment, looker: Looker, finding: Finding): void {
    const isNew = !isDeepStrictEqual(this.of(object), finding)
    const owner = ownerOf(object)
    this.#byUid.set(object.metadata.uid, { owner, looker, finding })
    if (isNew) this.#wake(owner)
  }

  /** It is looked at no more, unless the other daemon has taken over. */
  forget({ metadata: { uid } }: ClusterDeployment, looker: Looker): void {
    if (this.#byUid.get(uid)?.looker === looker) this.#byUid.delete(uid)
  }

  /** Wakes ClusterDeployments of which something new was found, until the signal aborts. */
  async follow(wake: (owner: Owner) => void, signal: AbortSignal): Promise<void> {
    this.#wake = wake
    for (const { owner } of this.#byUid.values()) wake(owner)
    await untilAborted(signal)
    this.#wake = () => {}
  }
}
