/**
 * Takes away what the inventory has and no run will apply any longer: all of it when the resource is gone or not selected any more,
 * and what an older generation or an older task applied under another name. ADAPTER-66, ADAPTER-67.
 */
import type { InventoryObject } from '#apis/hyperfleet.redhat.com/v1alpha1/adapterinventory.ts'
import { readParamsThatAreThere } from '../phases/params.ts'
import type { RunContext } from '../run-context.ts'
import type { RunState } from '../run-state.ts'
import { deleteUnits, withUnnamed } from './delete.ts'
import { decideDeletionOrder } from './deletion-order.ts'
import { observeInventory, toOrderedUnit } from './deletion-unit.ts'

/** All of it. @returns names of what is still waited for. @throws the signal's reason */
export const sweepInventory = async (state: RunState, context: RunContext): Promise<readonly string[]> => {
  if (!(await state.attempt('resources', () => context.inventory.refresh(context.signal)))) return ['']
  // No phase has read them when the run ended with its resource. Kubernetes is reached without.
  const reachesServices = [...context.inventory.entries.values()].some(({ url }) => url !== undefined)
  if (reachesServices && state.params.length === 0) await readParamsThatAreThere(state, context)
  return sweep(() => true, state, context)
}

/** @param applied keys of what this run has applied */
export const pruneSuperseded = async (
  applied: ReadonlyMap<string, string>,
  state: RunState,
  context: RunContext,
): Promise<void> => {
  const named = new Set(state.task.resources.map(({ name }) => name))
  const renewed = new Set(applied.values())
  const isSuperseded = ({ resource }: InventoryObject, key: string) =>
    !applied.has(key) && (!named.has(resource) || renewed.has(resource))
  if (![...context.inventory.entries].some(([key, entry]) => isSuperseded(entry, key))) return
  if (await hearOthers(state, context)) await sweep(isSuperseded, state, context)
}

/** What others have written into the inventory. @returns false when it can't be read, which is recorded as a failure */
export const hearOthers = (state: RunState, { inventory, signal }: RunContext): Promise<boolean> =>
  state.attempt('resources', () => inventory.hear(signal))

const sweep = async (
  isMeant: (entry: InventoryObject, key: string) => boolean,
  state: RunState,
  context: RunContext,
): Promise<readonly string[]> => {
  const units = await observeInventory(isMeant, state, context)
  const verdict = decideDeletionOrder(
    state.task.resources.map(({ name, after, policy }) => ({ name, after, policy, isGated: false })),
  )
  // Whatever is wrong with the order, what no run applies any longer is not kept for it.
  const named = verdict.kind === 'order' ? verdict.waitsFor : new Map<string, readonly string[]>()
  const waitsFor = withUnnamed(named, units)
  const names = new Set(units.map(({ name }) => name))
  const graph = units.map((unit) => {
    const after = (waitsFor.get(unit.name) ?? []).filter((other) => names.has(other))
    return { ...toOrderedUnit(unit, false), after }
  })
  const isAcyclic = decideDeletionOrder(graph).kind === 'order'
  return deleteUnits(
    units,
    { waitsFor: isAcyclic ? waitsFor : named, isGated: false, discovers: false },
    state,
    context,
  )
}
