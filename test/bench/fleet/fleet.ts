import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load as parseYaml } from 'js-yaml'
import { request } from 'undici'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { freePort } from '#hack/process/ports.ts'
import type { Resource } from '#operator/model/resource.ts'
import { startNats } from '#test/harness/servers.ts'
import type { Bench } from '../definition.ts'
import { moment } from '../load/moment.ts'
import { type MusterProcess, startMuster } from '../program.ts'
import { openStage, type Stage } from '../stage.ts'
import { openDevices } from './devices.ts'

const DEVICES = 10_000
const DEPLOYMENTS = 100
/** A restart that writes anything does so at once. */
const QUIET_MS = 10_000
const DEADLINE_MS = 900_000

const CRDS = join(import.meta.dirname, '../../../manifests/crds')

const install = async (stage: Stage, plural: string, resource: Resource): Promise<void> =>
  stage.install(parseYaml(await readFile(join(CRDS, `fleet.nationtech.io_${plural}.yaml`), 'utf8')) as object, resource)

interface Operator extends AsyncDisposable {
  readonly process: MusterProcess
  /** Waits until it holds, but not for an operator that has ended. */
  until(holds: () => Promise<boolean>, interval?: number): Promise<void>
  /** The sum of a counter over its labels that begin so. */
  metric(line: string): Promise<number>
}

const startOperator = async (stage: Stage, natsUrl: string): Promise<Operator> => {
  const [metrics, probe] = [await freePort(), await freePort()]
  const read = async (): Promise<readonly string[]> => {
    const { body } = await request(`http://127.0.0.1:${metrics}/metrics`)
    return (await body.text()).split('\n')
  }
  const process = await startMuster({
    args: [
      'manager',
      '--controllers=fleet',
      `--nats-url=${natsUrl}`,
      '--device-labels=group',
      `--metrics-bind-address=127.0.0.1:${metrics}`,
      `--health-probe-bind-address=127.0.0.1:${probe}`,
      '--log-level=warn',
    ],
    url: '',
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder: stage.folder,
    env: { KUBECONFIG: stage.kubeconfig, MUSTER_NAMESPACE: '' },
    deployedAs: 'fleet',
  })
  return {
    process,
    until: (holds, interval = 250) => process.until(holds, { timeout: DEADLINE_MS, interval }),
    metric: async (line) => {
      const lines = (await read()).filter((one) => one.startsWith(line))
      return lines.reduce((sum, one) => sum + Number(one.split(' ').at(-1)), 0)
    },
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}

export const fleet: Bench = {
  name: 'fleet',
  summary: `The fleet operator, bundled, with ${DEVICES.toLocaleString('en')} devices and ${DEPLOYMENTS} Deployments of 100 devices each: cold start until Converged, memory, what a restart and a label change write.`,
  run: async ({ say, note }) => {
    await using stage = await openStage(say)
    await using nats = await startNats()
    await install(stage, 'deployments', Deployment)
    await install(stage, 'devices', Device)
    const first = await startOperator(stage, nats.url)
    await using devices = await openDevices(stage, nats.url, DEVICES, DEPLOYMENTS)
    say(`${DEVICES} devices enter`)
    await devices.declare()
    await devices.enter()
    await first.until(async () => (await devices.written()) >= DEVICES)
    await devices.answer()
    say('waiting until nothing more is written')
    await first.until(async () => {
      const before = await first.metric('muster_fleet_status_writes_total')
      await sleep(5_000)
      return before > DEVICES && (await first.metric('muster_fleet_status_writes_total')) === before
    })
    const seeded = first.process.usage()
    await first[Symbol.asyncDispose]()

    say('a cold start')
    const written = await devices.written()
    await using second = await startOperator(stage, nats.url)
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
