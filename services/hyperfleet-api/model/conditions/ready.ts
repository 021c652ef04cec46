import { awaitedAdapters } from '../gate.ts'
import type { Situation } from './situation.ts'
import { list, oldest, type Reports } from './usable.ts'
import type { Verdict } from './verdict.ts'

/**
 * `Ready` (`Reconciled` under the peer's name): every required adapter says True of the current generation. It always
 * speaks of the current generation, so a spec change makes it False at once. Seed: pulses-and-status, API behaviour 5.
 */
export const readyVerdict = (situation: Situation, { required, usable }: Reports): Verdict => {
  const { generation, deleted_time, updated_time } = situation.resource
  const current = usable.filter(({ row }) => row.observed_generation === generation)
  const verdict = { observed_generation: generation, last_updated_time: oldest(current) ?? updated_time }
  if (deleted_time !== undefined)
    return { ...verdict, status: 'False', reason: 'Deleting', message: waitingFor(situation) }
  if (required.length === 0)
    return { ...verdict, status: 'False', reason: 'ReconciledMissingAdapters', message: 'No adapter has reported yet' }
  const agreeing = current.filter(({ available }) => available === 'True').map(({ row }) => row.adapter)
  const missing = required.filter((adapter) => !agreeing.includes(adapter))
  if (missing.length === 0)
    return {
      ...verdict,
      status: 'True',
      reason: 'ReconciledAll',
      message: 'All required adapters reported Available=True or Finalized=True at the current generation',
    }
  return {
    ...verdict,
    status: 'False',
    reason: 'ReconciledMissingAdapters',
    message: `Required adapters not reporting Available=True: ${list(missing)}. Currently reporting: ${list(agreeing)}`,
  }
}

/** Names who a deletion still waits for: the first question of whoever sees one that does not end. */
const waitingFor = ({ resource, rows, required, hasChildren }: Situation): string => {
  const awaited = awaitedAdapters(resource, rows, required)
  const parts = [
    ...(awaited.length > 0 ? [`adapters ${list(awaited)} to report their clean-up`] : []),
    ...(hasChildren ? ['child resources to be removed'] : []),
  ]
  return parts.length === 0 ? 'Deletion in progress' : `Deletion in progress, waiting for ${parts.join(' and ')}`
}
