import type { FleetView } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { OperatorStatus } from '#operator/operator.ts'

/**
 * Why a manager with the fleet controller is not ready; undefined when it is. It is ready once everything was read: a new version
 * replaces the old one only when it knows the fleet. A replica that knew it and lost a source stays ready, because no other replica knows
 * more and the dashboard, which tells of it, must stay in reach. FLEET-14.
 */
export const fleetUnready = (
  { view }: { readonly view: Pick<FleetView, 'recovery'> | undefined },
  { leading }: Pick<OperatorStatus, 'leading'>,
): string | undefined => {
  // A replica that stands by reads nothing.
  if (leading === false) return undefined
  if (view === undefined) return 'the fleet operator has not begun'
  const { phase, sources } = view.recovery()
  if (phase !== 'Recovering') return undefined
  const behind = Object.entries(sources).flatMap(([source, sync]) => {
    if (sync.phase !== 'Recovering') return []
    return sync.problem === undefined ? [source] : [`${source} (${sync.problem})`]
  })
  return `the fleet is being read: ${behind.join(', ')}`
}
