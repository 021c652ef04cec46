import { setTimeout as sleep } from 'node:timers/promises'
import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import { median } from '../measure/statistics.ts'
import type { Figure, Target } from '../report/row.ts'
import { installKind } from '../sentinel/config.ts'
import { startSentinel } from '../sentinel/processes.ts'
import { openStage, type Stage } from '../stage.ts'

const ROUNDS = 5
/** What the start used is collected by then. */
const IDLE_AFTER_MS = 5_000

const QUICK: Target = { of: 'value', atMost: 1_000 }
const SMALL: Target = { of: 'value', atMost: 60 }

export const start: Bench = {
  name: 'runtime-start',
  summary:
    'A process with one controller and no objects: from its start until its caches are synced, and its memory when idle. The manager is the program that ships, with its metrics, probes and log; the gadget operators are the runtimes alone.',
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('cache-whole', context)
    const compare = await compete(playing, context, {
      label: 'start',
      rounds: ROUNDS,
      measure: (contestant) => started(contestant, stage),
    })
    return [
      ...(await manager(stage, context.say)),
      ...compare('syncedMs', 'gadget operator: start until synced', 'ms', QUICK),
      ...compare('rss', `gadget operator: RSS ${IDLE_AFTER_MS / 1000} s later`, 'MiB', SMALL),
    ]
  },
}

/** `muster manager --controllers=sentinel`, as it ships. */
const manager = async (stage: Stage, say: (line: string) => void): Promise<readonly Figure[]> => {
  await installKind(stage)
  const readyMs: number[] = []
  const rss: number[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    await using sentinel = await startSentinel(stage)
    await sleep(IDLE_AFTER_MS)
    readyMs.push(sentinel.readyMs)
    rss.push(sentinel.usage().rssMiB)
    say(`manager, round ${round} of ${ROUNDS}: ready after ${Math.round(sentinel.readyMs)} ms`)
  }
  return [
    { name: 'manager with the sentinel: start until ready', unit: 'ms', value: median(readyMs), target: QUICK },
    {
      name: `manager with the sentinel: RSS ${IDLE_AFTER_MS / 1000} s later`,
      unit: 'MiB',
      value: median(rss),
      target: SMALL,
    },
  ]
}

const started = (contestant: Contestant, stage: Stage) =>
  withContestant(contestant, 'serve', stage, async ({ synced, usage }) => {
    const syncedMs = await synced()
    await sleep(IDLE_AFTER_MS)
    return { syncedMs, rss: usage().rssMiB }
  })
