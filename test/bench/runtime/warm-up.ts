import { asError } from '#operator/model/outcome.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import type { BenchContext } from '../definition.ts'
import type { Load } from '../load/process.ts'
import type { Stage } from '../stage.ts'

/** Long enough that a contestant that was only slow has written by then. */
const QUIET_MS = 10_000

/**
 * Fills the stage and lets every contestant run once until it writes nothing more, so that what each keeps on the objects
 * (kopf: the state handled last) is there. Returns the contestants that managed it.
 */
export const warmUp = async (
  playing: readonly Contestant[],
  count: number,
  stage: Stage,
  load: Load,
  { say, note }: BenchContext,
): Promise<readonly Contestant[]> => {
  say(`creating ${count} objects`)
  await load.create(count, 0)
  const warmedUp: Contestant[] = []
  for (const contestant of playing) {
    say(`warming up: ${contestant.name}`)
    try {
      await withContestant(contestant, 'serve', stage, async () => {
        await load.served(count)
        await load.quiet(QUIET_MS)
      })
      warmedUp.push(contestant)
    } catch (error) {
      note(`${contestant.name} did not come to rest and is left out: ${asError(error).message}`)
    }
  }
  return warmedUp
}
