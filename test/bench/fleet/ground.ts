/** The fleet operator that ships, on a NATS and a Kubernetes of its own, and its fleet. */
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
import type { Say } from '../definition.ts'
import { type MusterProcess, type Start, startManager } from '../program.ts'
import { openStage, type Stage } from '../stage.ts'
import { copyDevices } from './copies.ts'
import { type Devices, openDevices } from './devices.ts'

/** Milliseconds. */
const DEADLINE_MS = 900_000

const CRDS = join(import.meta.dirname, '../../../manifests/crds')

const install = async (stage: Stage, plural: string, resource: Resource): Promise<void> =>
  stage.install(parseYaml(await readFile(join(CRDS, `fleet.nationtech.io_${plural}.yaml`), 'utf8')) as object, resource)

export interface Operator extends AsyncDisposable {
  readonly process: MusterProcess
  /** Waits until it holds, but not for an operator that has ended. */
  until(holds: () => Promise<boolean>, interval?: number): Promise<void>
  /** The sum of a counter over its labels that begin so. */
  metric(line: string): Promise<number>
}

/** Beside what its Deployment says. */
type OperatorOptions = Pick<Start, 'env' | 'prefix' | 'readyWithin'>

const startOperator = async (
  stage: Stage,
  natsUrl: string,
  { env, ...options }: OperatorOptions,
): Promise<Operator> => {
  const metrics = await freePort()
  const read = async (): Promise<readonly string[]> => {
    const { body } = await request(`http://127.0.0.1:${metrics}/metrics`)
    return (await body.text()).split('\n')
  }
  const process = await startManager(stage, {
    controllers: 'fleet',
    flags: [`--nats-url=${natsUrl}`, '--device-labels=group'],
    metrics,
    deployedAs: 'fleet',
    env: { MUSTER_NAMESPACE: '', ...env },
    ...options,
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

export interface FleetGround extends AsyncDisposable {
  readonly devices: Devices
  /** Starts the operator. */
  operate(): Promise<Operator>
  /** Devices enter, are given their Deployments and answer, until the operator writes nothing more. */
  settle(operator: Operator): Promise<void>
  /** While no operator runs: there are so many devices, each of the further ones as the settled one of its Deployment is. */
  multiply(devices: number): Promise<void>
  /** Waits until an operator has brought each Deployment up to its further devices. */
  settleFurther(operator: Operator): Promise<void>
}

export interface FleetSize {
  readonly devices: number
  /** Each device has one of them. */
  readonly deployments: number
}

/** @param options of the operator */
export const openFleet = async (size: FleetSize, say: Say, options: OperatorOptions = {}): Promise<FleetGround> => {
  await using stack = new AsyncDisposableStack()
  const ground = stack.use(await fleetOn(stack.use(await openStage(say)), size, say, options))
  const all = stack.move()
  return { ...ground, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** A fleet on an API server that may have other work. @param options of the operator */
export const fleetOn = async (
  stage: Stage,
  { devices: count, deployments }: FleetSize,
  say: Say,
  options: OperatorOptions = {},
): Promise<FleetGround> => {
  await using stack = new AsyncDisposableStack()
  const nats = stack.use(await startNats())
  await install(stage, 'deployments', Deployment)
  await install(stage, 'devices', Device)
  // It makes the buckets.
  const first = await startOperator(stage, nats.url, options)
  const devices = stack.use(await openDevices(stage, nats.url, count, deployments))
  await first[Symbol.asyncDispose]()
  const own = stack.move()
  const untilQuiet = async (operator: Operator, atLeast: number): Promise<void> => {
    say('waiting until nothing more is written')
    const writes = () => operator.metric('muster_fleet_status_writes_total')
    await operator.until(async () => {
      const before = await writes()
      await sleep(5_000)
      return before >= atLeast && (await writes()) === before
    })
  }
  return {
    devices,
    operate: () => startOperator(stage, nats.url, options),
    settle: async (operator) => {
      say(`${count} devices enter`)
      await devices.declare()
      await devices.enter()
      await operator.until(async () => (await devices.written()) >= count)
      await devices.answer()
      await untilQuiet(operator, count + 1)
    },
    multiply: async (most) => {
      say(`${most} devices`)
      await copyDevices(stage.folder, count, most)
      await devices.multiply(most)
    },
    settleFurther: (operator) => untilQuiet(operator, deployments),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}
