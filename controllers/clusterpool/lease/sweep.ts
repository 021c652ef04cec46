import { type Duration, isConflict, isNotFound, type SourceContext } from '#operator/index.ts'
import { keyOf, type ObjectMeta } from '#operator/model/resource.ts'

export type SweepContext = Pick<SourceContext, 'api' | 'clock' | 'log' | 'signal'>

/** How often what was left behind is looked for: no pool is woken by what happens to it. */
const SWEEP_INTERVAL: Duration = '1m'
/** When another writer was faster: what it wrote is known by then. */
const CONFLICT_INTERVAL: Duration = '1s'

export interface Sweep<O> {
  /** What the caches have now. */
  readonly find: () => readonly O[]
  /** @throws what the API server failed with */
  readonly release: (object: O) => Promise<void>
  /** For the log: what it is that can't be let go. */
  readonly describe: (key: string) => string
}

/** Lets go of what is found, one by one, until the signal aborts. One that can't go never stops the others; it is tried again. */
export const sweep = async <O extends { readonly metadata: ObjectMeta }>(
  { find, release, describe }: Sweep<O>,
  { clock, log, signal }: SweepContext,
): Promise<void> => {
  while (!signal.aborted) {
    let interval: Duration = SWEEP_INTERVAL
    // A copy: what is released leaves the index meanwhile, and the one behind it would be passed over.
    const found = [...find()]
    for (const object of found) {
      if (signal.aborted) return
      try {
        await release(object)
      } catch (error) {
        if (isConflict(error)) interval = CONFLICT_INTERVAL
        if (isConflict(error) || isNotFound(error)) continue
        log.warn(`${describe(keyOf(object.metadata))}; tried again`, { err: error })
      }
    }
    await clock.sleep(interval, signal)
  }
}
