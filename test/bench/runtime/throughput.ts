import { compete } from '../contestants/compete.ts'
import { type Contestant, withContestant } from '../contestants/contestant.ts'
import { contestants } from '../contestants/index.ts'
import type { Bench } from '../definition.ts'
import type { Figure, Target } from '../report/row.ts'
import { openStage, type Stage } from '../stage.ts'

const SIZES: readonly { count: number; rounds: number; leftOut?: Contestant['id']; peakRss: Target }[] = [
  { count: 1_000, rounds: 7, peakRss: { of: 'value', atMost: 80 } },
  // Long enough to even itself out, and too long to be repeated, or to be waited for with the slowest contestant.
  { count: 10_000, rounds: 1, leftOut: 'kopf', peakRss: { of: 'value', atMost: 130 } },
]

export const throughput: Bench = {
  name: 'runtime-throughput',
  summary:
    'Objects with a finalizer are created, all become Ready=True, are all changed and Ready again, and are all deleted; objects per second of the whole.',
  run: async (context) => {
    await using stage = await openStage(context.say)
    const playing = await contestants('serve', context)
    const figures: Figure[] = []
    for (const { count, rounds, leftOut, peakRss } of SIZES) {
      const label = `${count.toLocaleString('en')} objects`
      const measure = (contestant: Contestant) => lifecycle(contestant, count, stage)
      const present = playing.filter(({ id }) => id !== leftOut)
      const compare = await compete(present, context, { label, rounds, measure })
      figures.push(
        ...compare('perSecond', `${label}: throughput`, 'objects/s', { of: 'ratio', atLeast: 1 }),
        ...compare('cpuMs', `${label}: operator CPU`, 'ms/object', { of: 'ratio', atMost: 2 }),
        ...compare('peakRss', `${label}: peak RSS`, 'MiB', peakRss),
      )
    }
    return figures
  },
}

const lifecycle = async (contestant: Contestant, count: number, stage: Stage) => {
  await using load = await stage.load()
  // Awaited here: the load must not end before the contestant's work does.
  return await withContestant(contestant, 'serve', stage, async (running) => {
    // One object first: the start belongs to runtime-start, not to these figures.
    await load.lifecycle(1)
    const before = running.usage()
    const { createMs, patchMs, deleteMs } = await load.lifecycle(count)
    const after = running.usage()
    return {
      perSecond: (count * 1000) / (createMs + patchMs + deleteMs),
      createMs,
      patchMs,
      deleteMs,
      cpuMs: (after.cpuMs - before.cpuMs) / count,
      peakRss: after.peakRssMiB,
    }
  })
}
