/**
 * Which device belongs to which batch. Frozen when the rollout begins, in a few numbers that fit into a status: of each batch the place of
 * its last device. From these, the selectors and the order, every replica finds the batch of every device again. FLEET-37. Pure.
 */

import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import type { AmountOrShare } from '#apis/schema/amount-or-share.ts'
import { type LabelSelector, type Labels, matches, selectorOf } from '#operator/model/selector.ts'
import { orderKey } from './device-order.ts'

export type FrozenBatch = RolloutStatus['batches'][number]

/** A batch as the spec writes it. */
export interface BatchSpec {
  readonly selector?: LabelSelector | undefined
  readonly limit?: AmountOrShare | undefined
}

/** What of a device decides its batch. */
export interface Candidate {
  readonly name: string
  readonly labels: Labels
  /** When its Device was made, in milliseconds since the epoch. */
  readonly joinedAt: number
}

/** Which rollout it is. */
export interface RolloutId {
  readonly uid: string
  readonly revision: number
}

/** A share is rounded up, so that it is at least one device. @param all Of how many. */
export const roundUpShare = (limit: AmountOrShare, all: number): number =>
  typeof limit === 'number' ? limit : Math.ceil((all * Number.parseInt(limit, 10)) / 100)

const batchSelects = ({ selector }: BatchSpec): ((device: Candidate) => boolean) => {
  const checked = selectorOf(selector ?? {})
  return ({ labels }) => matches(checked, labels)
}

/**
 * The batches of the devices that there are, the implicit last one included. A share is one of all devices that the selector of
 * the batch takes, whatever earlier batches have taken of them.
 * @throws SelectorError
 */
export const freezeBatches = (
  specs: readonly BatchSpec[],
  rollout: RolloutId,
  devices: readonly Candidate[],
): FrozenBatch[] => {
  let left = devices
    .map((device) => ({ device, place: orderKey(rollout, device.name) }))
    .toSorted((a, b) => (a.place < b.place ? -1 : 1))
  const batches = specs.map((spec): FrozenBatch => {
    const takes = batchSelects(spec)
    const most = spec.limit === undefined ? undefined : roundUpShare(spec.limit, devices.filter(takes).length)
    const members = left.filter(({ device }) => takes(device)).slice(0, most)
    const names = new Set(members.map(({ device }) => device.name))
    left = left.filter(({ device }) => !names.has(device.name))
    const size = members.length
    // No device has a place before the empty text.
    return most === undefined ? { size } : { size, cut: members.at(-1)?.place ?? '' }
  })
  return [...batches, { size: left.length }]
}

/**
 * The batch of a device, counted from 1. A device that joined after the rollout began belongs to the last: counts of earlier batches stay.
 * @throws SelectorError
 */
export const createBatchFinder = (
  specs: readonly BatchSpec[],
  rollout: RolloutId & { readonly startedAt: number; readonly batches: readonly FrozenBatch[] },
): ((device: Candidate) => number) => {
  const takes = specs.map(batchSelects)
  const last = rollout.batches.length
  return (device) => {
    if (device.joinedAt > rollout.startedAt) return last
    const place = orderKey(rollout, device.name)
    const index = takes.findIndex((takesIt, i) => {
      const cut = rollout.batches[i]?.cut
      return takesIt(device) && (cut === undefined || place <= cut)
    })
    return index === -1 ? last : index + 1
  }
}
