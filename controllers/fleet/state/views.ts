/** Deployments and Devices as FleetState needs them: validated, and only with the fields that decide something. Pure. */

import { desiredCodec, type Filled } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Toleration } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'
import { keyOf } from '#operator/model/resource.ts'
import { parseControls } from '../rollout/annotations.ts'
import { findOpening, parseWindows } from '../rollout/maintenance-windows.ts'
import type { Revision } from '../rollout/revisions.ts'
import {
  compileSelection,
  type NeededLabel,
  neededLabels,
  type SelectableDevice,
  type Selection,
} from '../selection/selection.ts'
import { compileWorkload, type Workload } from '../workload/rendering.ts'

/** A person keeps changes off the device; the value says why. FLEET-34. */
export const HOLD_ANNOTATION = 'fleet.nationtech.io/hold'

/** A Device at a moment. */
export interface DeviceView extends SelectableDevice {
  /** metadata.resourceVersion: what is filled in with a later one is newer. */
  readonly version: string
  readonly isPinned: boolean
  /** Why a person holds changes back; undefined when none does. */
  readonly holdReason: string | undefined
  /** Its windows are closed: when the next one opens, or `never`. Undefined when changes may begin. */
  readonly opens: Date | 'never' | undefined
  /** When the Device was made: one that joins a rollout under way comes last. Milliseconds since the epoch. */
  readonly joinedAt: number
}

export interface DeploymentView {
  /** namespace/name */
  readonly key: string
  readonly uid: string
  /** RFC 3339. */
  readonly created: string
  /** It matches nothing any more, and never will again. */
  readonly isDeleting: boolean
  /** A person deleted it, and not the namespace that it is in: what it wrote goes with it. FLEET-77. */
  readonly isDeletedByPerson: boolean
  /** The place that it claims on each device; undefined when it gets along with all others. */
  readonly slot: string | undefined
  readonly priority: number
  readonly tolerations: readonly Toleration[]
  /** The revision that is rolled out. */
  readonly target: Revision
  readonly history: readonly Revision[]
  /** The revision that devices keep until their turn comes. */
  readonly from: number | undefined
  /** The revision up to which what is not known is overruled by a person; 0 when none is. */
  readonly overruled: number
  /** It is for no device without each of these labels. */
  readonly needs: readonly NeededLabel[]
  /** Whether it is for the device. */
  selects(device: DeviceView): Selection
  /** The rollout has come to the device. @param isDown It says that what it was given does not run. */
  admits(device: DeviceView, isDown: boolean): boolean
  /** Names what a device is to run under a revision, or says why that can't be filled in for it. */
  desiredWorkload(revision: Revision, device: DeviceView): DesiredWorkload
  /** Beside what is rendered: where it came from; undefined when it is the same for every device. */
  renderedFrom(revision: Revision, device: DeviceView): Filled | undefined
  /** What is written for a revision, the same for every operator that sees the same Device; undefined when it can't be filled in. */
  encodeDesired(revision: Revision, device: DeviceView): Uint8Array | undefined
}

/**
 * A Device as it is at `now`: its windows open and close, and what bears its taints for a while does so no longer.
 * @throws WindowError
 */
export const deviceView = ({ metadata, spec, status }: Device, now: Date): DeviceView => {
  const opening = findOpening(parseWindows(spec.windows, 'spec.windows'), now)
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    inventory: spec.inventory ?? {},
    taints: [...(spec.taints ?? []), ...(status?.taints ?? [])],
    at: now,
    version: metadata.resourceVersion,
    isPinned: spec.pinned,
    holdReason: metadata.annotations?.[HOLD_ANNOTATION],
    opens: opening.isOpen ? undefined : (opening.opens ?? 'never'),
    joinedAt: Date.parse(metadata.creationTimestamp ?? ''),
  }
}

/** A workload by the digest of what the device gets. */
export type DesiredWorkload = { readonly digest: string } | { readonly problem: string }

/** What the rollout says; without one, every device may have the target. */
export interface RolloutPlan {
  readonly from?: number
  /** @param isDown The device says that what it was given does not run. */
  admits(device: DeviceView, isDown: boolean): boolean
}

const ADMIT_ALL: RolloutPlan = { admits: () => true }

/**
 * A Deployment that is being deleted matches nothing: its keys go, then its finalizer.
 * @param revision Of the Deployment as it is now, once it is stored.
 * @throws SelectorError, ExpressionError, WorkloadError, WindowError and ControlError that name the field
 * @throws MalformedEntry (Size) for a workload that is too large
 */
export const deploymentView = (
  { metadata, spec }: Deployment,
  revision: Revision,
  history: readonly Revision[] = [revision],
  plan: RolloutPlan = ADMIT_ALL,
): DeploymentView => {
  const select = compileSelection(spec)
  parseWindows(spec.rollout.windows, 'spec.rollout.windows')
  const owner = { uid: metadata.uid, created: metadata.creationTimestamp ?? '' }
  const isDeleting = metadata.deletionTimestamp !== undefined
  const workloads = new Map<number, Workload>()
  const workloadIn = ({ revision: number, score }: Revision): Workload => {
    const workload = workloads.get(number) ?? compileWorkload(score)
    workloads.set(number, workload)
    return workload
  }
  const renderedFrom = (of: Revision, device: DeviceView): Filled | undefined => {
    const { isTemplated, digest } = workloadIn(of)
    return isTemplated ? { digest, device: device.version } : undefined
  }
  const encode = ({ revision: number, generation }: Revision, score: Revision['score'], from: Filled | undefined) =>
    desiredCodec.encode({ owner, revision: number, score, ...(from !== undefined && { filled: from }) }, generation)
  // What is the same for every device is made once.
  const sealed = new Map<number, Uint8Array>()
  const shared = (of: Revision): Uint8Array => {
    const bytes = sealed.get(of.revision) ?? encode(of, of.score, undefined)
    sealed.set(of.revision, bytes)
    return bytes
  }
  if (!workloadIn(revision).isTemplated) shared(revision)
  const workloadsByDevice = new WeakMap<DeviceView, Map<number, DesiredWorkload>>()
  return {
    key: keyOf(metadata),
    ...owner,
    isDeleting,
    isDeletedByPerson: isDeleting,
    slot: spec.slot,
    priority: spec.priority,
    tolerations: spec.tolerations ?? [],
    target: revision,
    history,
    from: plan.from,
    overruled: parseControls(metadata.annotations).overruledRevision,
    needs: neededLabels(spec),
    selects(device) {
      if (isDeleting) return { is: 'NotSelected', why: 'the Deployment is being deleted' }
      return select(device)
    },
    admits: (device, isDown) => plan.admits(device, isDown),
    desiredWorkload(of, device) {
      const { isTemplated, digest } = workloadIn(of)
      if (!isTemplated) return { digest }
      const known = workloadsByDevice.get(device) ?? new Map<number, DesiredWorkload>()
      workloadsByDevice.set(device, known)
      const found = known.get(of.revision)
      if (found !== undefined) return found
      const rendered = workloadIn(of).render(device)
      // The workload itself is not kept: ten thousand of them are large.
      const desired = 'problem' in rendered ? rendered : { digest: rendered.digest }
      known.set(of.revision, desired)
      return desired
    },
    renderedFrom,
    encodeDesired(of, device) {
      if (!workloadIn(of).isTemplated) return shared(of)
      const rendered = workloadIn(of).render(device)
      return 'problem' in rendered ? undefined : encode(of, rendered.score, renderedFrom(of, device))
    },
  }
}
