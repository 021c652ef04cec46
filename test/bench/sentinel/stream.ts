import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../definition.ts'
import { percentile } from '../measure/statistics.ts'
import { openStage } from '../stage.ts'
import { openClusters } from './clusters.ts'
import { createConfig, untilPulsed } from './config.ts'
import { startApi, startSentinel } from './processes.ts'

const QUIET = 20_000
const MANY = 50_000
const CHANGES = 200
const CHANGE_EVERY_MS = 50
/** Status writes and garbage of the pulses before are over by then. */
const QUIET_MS = 10_000
const WINDOW_MS = 60_000

export const sentinelStream: Bench = {
  name: 'sentinel',
  summary: `A Sentinel on our API's watch stream, with the bundled program: CPU with ${QUIET.toLocaleString('en')} resources and nothing due, the way of a spec change to a consumer of its event, memory with ${MANY.toLocaleString('en')} resources.`,
  run: async ({ say, note }) => {
    await using stage = await openStage(say)
    await using api = await startApi(stage)
    const clusters = openClusters(api.url)
    say(`creating ${QUIET} clusters`)
    await clusters.create(QUIET)
    await createConfig(stage, api.url)
    await using sentinel = await startSentinel(stage, { api: api.url })
    say('waiting until each is pulsed once')
    await untilPulsed(stage, QUIET)
    await sleep(QUIET_MS)

    say(`nothing due for ${WINDOW_MS / 1000} s`)
    const before = sentinel.usage()
    await sleep(WINDOW_MS)
    const after = sentinel.usage()

    say(`changing ${CHANGES} specs`)
    const latencies = await clusters.change(CHANGES, CHANGE_EVERY_MS)

    say(`creating ${MANY - QUIET} more clusters`)
    await clusters.create(MANY - QUIET)
    await untilPulsed(stage, MANY + CHANGES)
    await sleep(QUIET_MS)
    const large = sentinel.usage()
    await clusters.close()
    note('The latency ends when a consumer has claimed the event, a little after the event is stored.')
    say(
      `by nanoseconds ${after.threadsCpuMs - before.threadsCpuMs} ms, by steps of 10 ms ${after.cpuMs - before.cpuMs} ms`,
    )
    const cpuPer5s = ((after.threadsCpuMs - before.threadsCpuMs) * 5) / WINDOW_MS
    return [
      { name: 'start until ready', unit: 'ms', value: sentinel.readyMs, target: { of: 'value', atMost: 1_000 } },
      {
        name: 'CPU, 20,000 resources, nothing due',
        unit: 'core-s per 5 s',
        value: cpuPer5s,
        target: { of: 'value', atMost: 0.007 },
      },
      { name: 'RSS, 20,000 resources', unit: 'MiB', value: after.rssMiB },
      { name: 'spec change until event, p50', unit: 'ms', value: percentile(latencies, 0.5) },
      {
        name: 'spec change until event, p99',
        unit: 'ms',
        value: percentile(latencies, 0.99),
        target: { of: 'value', atMost: 100 },
      },
      { name: 'RSS, 50,000 resources', unit: 'MiB', value: large.rssMiB, target: { of: 'value', atMost: 110 } },
      {
        name: 'peak RSS, 50,000 resources pulsed',
        unit: 'MiB',
        value: large.peakRssMiB,
        target: { of: 'value', atMost: 128 },
      },
    ]
  },
}
