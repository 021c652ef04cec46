import { setTimeout as sleep } from 'node:timers/promises'
import { compete } from '../contestants/compete.ts'
import { type Contestant, type Mode, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import type { Figure } from '../report/row.ts'
import { openStage, type Stage } from '../stage.ts'

const OBJECTS = 10_000
const PAYLOAD_BYTES = 1_024

const MODES = [
  { mode: 'cache-whole', label: 'whole', atMost: 130 },
  { mode: 'cache-projected', label: 'projected', atMost: 100 },
] as const

export const cache: Bench = {
  name: 'runtime-cache',
  summary: `${OBJECTS.toLocaleString('en')} custom resources of about 1.7 KB JSON are read into a cache, whole or projected to metadata and status; peak RSS.`,
  run: async (context) => {
    await using stage = await openStage(context.say)
    await using load = await stage.load()
    context.say(`creating ${OBJECTS} objects`)
    await load.create(OBJECTS, PAYLOAD_BYTES)
    const figures: Figure[] = []
    for (const { mode, label, atMost } of MODES) {
      const playing = await contestants(mode, context)
      const compare = await compete(playing, context, {
        label: `cached ${label}`,
        rounds: 3,
        measure: (contestant) => cached(contestant, mode, stage),
      })
      figures.push(
        ...compare('peakRss', `${OBJECTS} objects cached ${label}: peak RSS`, 'MiB', { of: 'value', atMost }),
        ...compare('syncedMs', `${OBJECTS} objects cached ${label}: start until synced`, 'ms'),
      )
    }
    return figures
  },
}

const cached = (contestant: Contestant, mode: Mode, stage: Stage) =>
  withContestant(contestant, mode, stage, async ({ synced, usage }) => {
    const syncedMs = await synced()
    // What the reading left behind may still grow the heap a little.
    await sleep(1_000)
    return { peakRss: usage().peakRssMiB, syncedMs }
  })
