/**
 * What a Deployment would do, before it does: which devices it is for and why not the others, in which batch each is, what each
 * gets. It asks the same functions as the operator, so it says what will be. FLEET-54. Pure.
 */

import { digestOf } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import type { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { keyOf } from '#operator/model/resource.ts'
import { createBatchFinder, freezeBatches } from './rollout/batches.ts'
import { explainBlocked } from './state/explain-placement.ts'
import { findBlockedReason } from './state/placement.ts'
import { type DeploymentView, type DeviceView, deploymentView, deviceView } from './state/views.ts'
import { compileWorkload } from './workload/rendering.ts'

export type DevicePreview = { readonly device: string } & (
  | { readonly is: 'NotSelected' | 'Unknown'; readonly why: string }
  | {
      readonly is: 'Selected'
      /** Counted from 1. */
      readonly batch: number
      /** What keeps changes off for now; undefined when nothing does. */
      readonly held?: string
      /** Why its templates can't be filled in; else there is a workload. */
      readonly problem?: string
      readonly workload?: Score
    }
)

export interface Preview {
  readonly deployment: string
  /** That the batches are of: the next one. */
  readonly revision: number
  /** Whether it is known which devices are in a batch with a limit: the draw needs the uid that a Deployment gets when it is made. */
  readonly isDrawn: boolean
  /** Devices of each batch, the implicit last one included. */
  readonly batches: readonly number[]
  readonly devices: readonly DevicePreview[]
}

/**
 * @throws SelectorError, ExpressionError, WorkloadError, WindowError, ControlError, MalformedEntry for a Deployment that the
 * operator would refuse
 */
export const previewDeployment = (deployment: Deployment, devices: readonly Device[], now: Date): Preview => {
  const { metadata, spec, status } = deployment
  const revision = (status?.revision ?? 0) + 1
  const next = { revision, generation: metadata.generation ?? 1, digest: digestOf(spec.score), score: spec.score }
  const view = deploymentView(deployment, next)
  const views = devices.map((device) => deviceView(device, now)).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const selected = views.filter((device) => view.selects(device).is === 'Selected')
  const id = { uid: metadata.uid, revision }
  const batches = spec.rollout.batches ?? []
  const frozen = freezeBatches(batches, id, selected)
  const batchOf = createBatchFinder(batches, { ...id, startedAt: now.getTime(), batches: frozen })
  const workload = compileWorkload(spec.score)
  return {
    deployment: keyOf(metadata),
    revision,
    isDrawn: metadata.uid !== '' || batches.every(({ limit }) => limit === undefined),
    batches: frozen.map(({ size }) => size),
    devices: views.map((device): DevicePreview => {
      const selection = view.selects(device)
      if (selection.is !== 'Selected') return { device: device.name, ...selection }
      const held = explainHeld(view, device)
      const rendered = workload.render(device)
      return {
        device: device.name,
        is: 'Selected',
        batch: batchOf(device),
        ...(held !== undefined && { held }),
        ...('problem' in rendered ? { problem: rendered.problem } : { workload: rendered.score }),
      }
    }),
  }
}

/** What keeps changes off a device that has nothing of the Deployment yet. */
const explainHeld = (deployment: DeploymentView, device: DeviceView): string | undefined => {
  const [namespace = '', name = ''] = deployment.key.split('/')
  const placement = { device: device.name, namespace, deployment: name }
  const known = {
    placement,
    deployment,
    device,
    entry: undefined,
    lastSigned: undefined,
    isSigning: false,
    reported: undefined,
    isAlive: true,
    slotOwner: undefined,
  }
  const hold = findBlockedReason(deployment, device, known)
  return hold && explainBlocked(deployment, known, hold)
}

/** Something would not come to a device that it is meant for, or that it may be meant for. */
export const hasProblems = ({ devices }: Preview): boolean =>
  devices.some((one) => one.is === 'Unknown' || (one.is === 'Selected' && one.problem !== undefined))

const plural = (count: number): string => `${count} ${count === 1 ? 'device' : 'devices'}`

/** For people: batch by batch, then those that are left out. @param isTemplated Each device gets something of its own. */
export const formatPreview = (shown: Preview, isTemplated: boolean): string => {
  const { deployment, revision, isDrawn, batches, devices } = shown
  const selected = devices.filter((one) => one.is === 'Selected')
  const lines = [`${deployment}, revision ${revision}: for ${selected.length} of ${plural(devices.length)}`]
  if (!isDrawn)
    lines.push('The devices of a batch with a limit are drawn when the Deployment is made; this is one draw.')
  batches.forEach((size, index) => {
    lines.push('', `batch ${index + 1} of ${batches.length}: ${plural(size)}`)
    for (const one of selected) {
      if (one.batch !== index + 1) continue
      const { device, problem, held, workload } = one
      lines.push(`  ${device}`)
      if (problem !== undefined) lines.push(`    fails: ${problem}`)
      if (held !== undefined) lines.push(`    held: ${held}`)
      if (isTemplated && workload !== undefined) lines.push(`    gets: ${JSON.stringify(workload.data)}`)
    }
  })
  for (const [is, title] of [
    ['Unknown', 'undecided, so nothing is added and nothing removed'],
    ['NotSelected', 'not selected'],
  ] as const) {
    const these = devices.flatMap((one) => (one.is === is ? [`  ${one.device}: ${one.why}`] : []))
    if (these.length > 0) lines.push('', `${title}: ${plural(these.length)}`, ...these)
  }
  return `${lines.join('\n')}\n`
}
