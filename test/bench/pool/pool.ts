import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../definition.ts'
import type { Figure } from '../report/row.ts'
import { openStage } from '../stage.ts'
import { fill } from './fill.ts'
import { createCrowd, installKinds, startPools } from './ground.ts'
import { steady } from './steady.ts'

const FILLED = 200
const CACHED = 10_000
const CACHED_MIB = 200

/** The Go peer is in no registry: anchors, hive-clusterpool 0.9, its own code on its fake client, on another machine. */
const PEER = 'hive (Go), measured elsewhere'
const SIZES = [
  { size: 10, peerMs: 0.54 },
  { size: 100, peerMs: 5.3 },
  { size: 500, peerMs: 15 },
] as const

export const pool: Bench = {
  name: 'pool',
  summary: `Cluster pools: a pass over a pool that is as wanted, with an inventory as long as its size; two managers that fill a pool of ${FILLED} from an inventory of ${FILLED}; ${CACHED.toLocaleString('en')} ClusterDeployments in the cache of one manager.`,
  run: async ({ say, note }) => {
    note(`${PEER}, on another machine, with a client that has no server: its ratios are a hint, not a comparison.`)
    const figures: Figure[] = []
    for (const { size, peerMs } of SIZES) {
      say(`a steady pool of ${size}`)
      const { plan, pass } = await steady(size, { inventory: true })
      const target = size === 100 ? ({ of: 'value', atMost: peerMs } as const) : undefined
      figures.push(
        { name: `steady pool of ${size}: plan`, unit: 'ms', value: plan },
        {
          name: `steady pool of ${size}: whole pass`,
          unit: 'ms',
          value: pass,
          peer: { name: PEER, value: peerMs },
          target,
        },
      )
    }
    await using stage = await openStage(say)
    await installKinds(stage)
    say(`two managers fill ${FILLED}`)
    const filling = await fill(stage, FILLED)
    say(`creating ${CACHED} ClusterDeployments`)
    await createCrowd(stage, CACHED)
    await using manager = await startPools(stage)
    // What the reading left behind may still grow the heap a little.
    await sleep(5_000)
    const { rssMiB, peakRssMiB } = manager.usage()
    return [
      ...figures,
      { name: `filling ${FILLED}`, unit: 'ms', value: filling.took },
      {
        name: 'customizations seen in two clusters',
        unit: '',
        value: filling.twice,
        target: { of: 'value', atMost: 0 },
      },
      { name: `filling ${FILLED}: CPU of both managers`, unit: 'ms/cluster', value: filling.cpuMs / FILLED },
      { name: `filling ${FILLED}: RSS of the larger one`, unit: 'MiB', value: filling.rssMiB },
      { name: `${CACHED} ClusterDeployments: start until ready`, unit: 'ms', value: manager.readyMs },
      {
        name: `${CACHED} ClusterDeployments: RSS`,
        unit: 'MiB',
        value: rssMiB,
        target: { of: 'value', atMost: CACHED_MIB },
      },
      { name: `${CACHED} ClusterDeployments: peak RSS`, unit: 'MiB', value: peakRssMiB },
    ]
  },
}
