import { setTimeout as sleep } from 'node:timers/promises'
import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import { openStage, type Stage } from '../stage.ts'

/** Peak use of the start is over and collected by then. */
const IDLE_AFTER_MS = 5_000

export const start: Bench = {
  name: 'runtime-start',
  summary:
    'A process with one controller and no objects: from its start until its caches are synced, and its memory when idle.',
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('cache-whole', context)
    const compare = await compete(playing, context, {
      label: 'start',
      rounds: 5,
      measure: (contestant) => started(contestant, stage),
    })
    return [
      ...compare('syncedMs', 'one controller: start until synced', 'ms', { of: 'value', atMost: 1_000 }),
      ...compare('rss', `one controller: RSS ${IDLE_AFTER_MS / 1000} s later`, 'MiB', { of: 'value', atMost: 80 }),
    ]
  },
}

const started = (contestant: Contestant, stage: Stage) =>
  withContestant(contestant, 'serve', stage, async ({ synced, usage }) => {
    const syncedMs = await synced()
    await sleep(IDLE_AFTER_MS)
    return { syncedMs, rss: usage().rssMiB }
  })
