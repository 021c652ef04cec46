/** Deployments and Devices as FleetState takes them: checked, without what decides nothing. */
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { keyOf } from '#operator/model/resource.ts'
import { type Labels, matches, selectorOf } from '#operator/model/selector.ts'
import { digestOf } from '../kv/envelope.ts'
import { desiredCodec } from '../kv/payload.ts'
import type { Revision } from '../rollout/revisions.ts'

export interface DeviceView {
  readonly name: string
  readonly labels: Labels
  readonly isPinned: boolean
  /** When the Device was made: one that joins a rollout under way comes last. Milliseconds since the epoch. */
  readonly joinedAt: number
}

export interface Target extends Revision {
  /** A device that has this workload under an older number needs nothing. */
  isSameWorkload(score: Score): boolean
}

export interface DeploymentView {
  /** namespace/name */
  readonly key: string
  readonly uid: string
  /** RFC 3339. */
  readonly created: string
  /** The revision that is rolled out. */
  readonly target: Target
  readonly history: readonly Revision[]
  /** The revision that devices keep until their turn comes. */
  readonly from: number | undefined
  matches(labels: Labels): boolean
  /** The rollout has come to the device. */
  admits(device: DeviceView): boolean
  /** What is written for a revision: the same bytes for every device and every operator. */
  bytesOf(revision: Revision): Uint8Array
}

export const deviceView = ({ metadata, spec }: Device): DeviceView => ({
  name: metadata.name,
  labels: metadata.labels ?? {},
  isPinned: spec.pinned,
  joinedAt: Date.parse(metadata.creationTimestamp ?? ''),
})

/** What the rollout says; without one, every device may have the target. */
export interface Course {
  readonly from?: number
  admits(device: DeviceView): boolean
}

const ALL: Course = { admits: () => true }

/**
 * A Deployment that is being deleted matches nothing: its keys go, then its finalizer.
 * @param revision What `revisionFor` says, once it is stored.
 * @throws SelectorError that names the field
 */
export const deploymentView = (
  { metadata, spec }: Deployment,
  revision: Revision,
  history: readonly Revision[] = [revision],
  course: Course = ALL,
): DeploymentView => {
  const selector = selectorOf(spec.targetSelector)
  const owner = { uid: metadata.uid, created: metadata.creationTimestamp ?? '' }
  const isDeleting = metadata.deletionTimestamp !== undefined
  const sealed = new Map<number, Uint8Array>()
  const digests = new WeakMap<Score, string>()
  const digestOnce = (score: Score): string => {
    const digest = digests.get(score) ?? digestOf(score)
    digests.set(score, digest)
    return digest
  }
  return {
    key: keyOf(metadata),
    ...owner,
    target: { ...revision, isSameWorkload: (score) => digestOnce(score) === revision.digest },
    history,
    from: course.from,
    matches: (labels) => !isDeleting && matches(selector, labels),
    admits: (device) => course.admits(device),
    bytesOf({ revision: number, generation, score }) {
      const bytes = sealed.get(number) ?? desiredCodec.encode({ owner, revision: number, score }, generation)
      sealed.set(number, bytes)
      return bytes
    },
  }
}
