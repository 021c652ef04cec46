import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import type { Load } from '../load/process.ts'
import { openStage, type Stage } from '../stage.ts'
import { warmUp } from './warm-up.ts'

const OBJECTS = 10_000
/** Spread over the collection, so that it does not matter in which order a contestant reads it. */
const CHANGED = [0, 2_500, 5_000, 7_500, 9_999]

export const restart: Bench = {
  name: 'runtime-restart',
  summary: `${OBJECTS.toLocaleString('en')} served objects are there and five have just been changed; from the operator's start until all five are served.`,
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('serve', context)
    await using load = await stage.load()
    const warmedUp = await warmUp(playing, OBJECTS, stage, load, context)
    const compare = await compete(warmedUp, context, {
      label: 'restart',
      rounds: 5,
      measure: (contestant) => restarted(contestant, stage, load),
    })
    return [
      ...compare('served', 'restart until all changes are served', 'ms', { of: 'ratio', atMost: 1 }),
      ...compare('cpuMs', 'restart: operator CPU until then', 'ms'),
      ...compare('peakRss', 'restart: peak RSS until then', 'MiB'),
    ]
  },
}

const restarted = async (contestant: Contestant, stage: Stage, load: Load) => {
  await load.change(CHANGED)
  return withContestant(contestant, 'serve', stage, async ({ startedAt, usage }) => {
    const served = await load.changed()
    const { cpuMs, peakRssMiB } = usage()
    await load.quiet(1_000)
    return { served: Math.max(...served.map(({ servedAt }) => servedAt)) - startedAt, cpuMs, peakRss: peakRssMiB }
  })
}
