import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../definition.ts'
import { moment } from '../load/moment.ts'
import { openFleet } from './ground.ts'

const DEVICES = 10_000
const DEPLOYMENTS = 100
/** A restart that writes anything does so at once. */
const QUIET_MS = 10_000

export const fleet: Bench = {
  name: 'fleet',
  summary: `The fleet operator, bundled, with ${DEVICES.toLocaleString('en')} devices and ${DEPLOYMENTS} Deployments of 100 devices each: cold start until Converged, memory, what a restart and a label change write.`,
  run: async ({ say, note }) => {
    await using ground = await openFleet({ devices: DEVICES, deployments: DEPLOYMENTS }, say)
    const { devices } = ground
    const first = await ground.operate()
    await ground.settle(first)
    const seeded = first.process.usage()
    await first[Symbol.asyncDispose]()

    say('a cold start')
    const written = await devices.written()
    await using second = await ground.operate()
    await sleep(QUIET_MS)
    const rewritten = (await devices.written()) - written
    const restarted = second.process.usage()

    say('one device changes its labels')
    const changedAt = moment()
    await devices.tell(0, 1)
    await second.until(async () => (await devices.isGiven(0, 1)) && !(await devices.isGiven(0, 0)), 10)
    const moved = moment() - changedAt
    await sleep(QUIET_MS)
    const touched = (await devices.written()) - written - rewritten

    say('devices of one Deployment report as fast as they can')
    const status = 'muster_fleet_status_writes_total{kind="Deployment"}'
    const before = await second.metric(status)
    const began = moment()
    for (let round = 0; moment() - began < QUIET_MS; round += 1) await devices.flip(100, round % 2 === 0)
    const rate = ((await second.metric(status)) - before) / ((moment() - began) / 1_000)
    note(
      'Each device has one of the Deployments. The label change includes the Device in Kubernetes, which is written once a second.',
    )
    const most = (atMost: number) => ({ of: 'value', atMost }) as const
    return [
      { name: 'cold start until Converged', unit: 'ms', value: second.process.readyMs, target: most(5_000) },
      { name: 'RSS after a restart', unit: 'MiB', value: restarted.rssMiB, target: most(256) },
      { name: 'peak RSS of a restart', unit: 'MiB', value: restarted.peakRssMiB },
      { name: 'RSS after all devices entered', unit: 'MiB', value: seeded.rssMiB, target: most(256) },
      { name: 'KV revisions that a restart writes', unit: 'keys', value: rewritten, target: most(0) },
      { name: 'KV revisions that a label change writes', unit: 'keys', value: touched, target: most(2) },
      { name: 'label change until the new key', unit: 'ms', value: moved },
      { name: 'status writes of one busy Deployment', unit: '1/s', value: rate, target: most(1.05) },
    ]
  },
}
