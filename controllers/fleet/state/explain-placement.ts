/** What a person would want to know of a device that is not as wanted. Pure. */
import type { PlacementPhase } from '#apis/fleet.nationtech.io/fleet-view.ts'
import { OVERRULE_ANNOTATION } from '../rollout/annotations.ts'
import { formatTaint } from '../selection/taints.ts'
import {
  type BlockedReason,
  findBlockedReason,
  findRenderProblem,
  findUnknownRevision,
  findUntoleratedTaint,
  type PlacementFacts,
} from './placement.ts'
import type { DeploymentView, DeviceView } from './views.ts'

type KnownDeviceFacts = PlacementFacts & { readonly device: DeviceView }

/** Why a device keeps what it has; undefined when that is as it should be while a rollout is under way. */
export const explainBlocked = (
  deployment: DeploymentView,
  known: KnownDeviceFacts,
  hold: BlockedReason,
): string | undefined => {
  const { device, slotOwner } = known
  switch (hold) {
    case 'LaterRelease':
      return 'a later release of the operator wrote what it has, and this one leaves it alone'
    case 'ConflictPaused':
      return explainRevisionConflict(deployment, findUnknownRevision(deployment, known))
    case 'SlotTaken':
      return `its slot ${deployment.slot} has ${slotOwner?.key}, of priority ${slotOwner?.priority} and made ${slotOwner?.created}`
    case 'SelectionUnknown': {
      const selection = deployment.selects(device)
      return selection.is === 'Selected' ? undefined : selection.why
    }
    case 'Pinned':
      return 'it is pinned'
    case 'OnHold':
      return `a person holds changes back: ${device.holdReason || 'no reason is given'}`
    case 'Tainted': {
      const taint = findUntoleratedTaint(deployment, device)
      return taint && `no toleration bears its taint ${formatTaint(taint)}`
    }
    case 'WindowClosed':
      return device.opens instanceof Date
        ? `its next window opens at ${device.opens.toISOString()}`
        : 'none of its windows opens again'
    case 'NotItsTurn':
      return undefined
  }
}

const explainRevisionConflict = ({ target }: DeploymentView, unknown: number | undefined): string =>
  `it has revision ${unknown}, and that is not the one of here, where ${target.revision} is the last: the cluster was restored ` +
  `from a backup. Nothing is written. To overwrite it, annotate the Deployment with ${OVERRULE_ANNOTATION}=${unknown}`

/** Undefined when there is nothing to say. */
export const explainOffender = (
  deployment: DeploymentView,
  known: KnownDeviceFacts,
  phase: PlacementPhase,
): string | undefined => {
  const message = known.reported?.state.message
  switch (phase) {
    case 'failed':
      return findRenderProblem(deployment, known.device) ?? message ?? 'it does not say why'
    case 'offline':
      return 'no heartbeat'
    case 'unreported':
      return 'online, but it has said nothing of this Deployment'
    case 'held': {
      const hold = findBlockedReason(deployment, known.device, known)
      return hold === undefined ? (message ?? 'it holds the update back') : explainBlocked(deployment, known, hold)
    }
    case 'pending':
      return known.isAlive ? undefined : 'no heartbeat, and it never said anything of this Deployment'
    case 'succeeded':
      return undefined
  }
}
