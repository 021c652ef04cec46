/** What a person types to steer a rollout: the table of docs/fleet-rollouts.md, row by row, on Deployments that have devices. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import type { DeepPartial } from '#operator/index.ts'
import { readPage } from '../docs/page.ts'
import { type FleetWorld, fleetWorld, type Machine, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

const PAGE = 'docs/fleet-rollouts.md'

/** The first command of each row below "Steer it", by what it is to do. */
const commandsToSteer = async (): Promise<ReadonlyMap<string, string>> => {
  const { text } = await readPage(PAGE)
  const [, section = ''] = text.split('\n## Steer it\n')
  const [table = ''] = section.split('\n\n')
  return new Map(
    [...table.matchAll(/^\| ([^|`]+) \| `(kubectl [^`]+)`/gm)].map(([, to = '', command = '']) => [to, command]),
  )
}

let world: FleetWorld
let commands: ReadonlyMap<string, string>
/** What the test has not typed yet. */
let left: Set<string>

beforeAll(async () => {
  commands = await commandsToSteer()
  left = new Set(commands.keys())
  world = await fleetWorld()
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** Types the row's command as it stands there, but for names that are others here. */
const type = async (to: string, instead: Readonly<Record<string, string>> = {}): Promise<void> => {
  let command = commands.get(to)
  if (command === undefined) throw new Error(`${PAGE} has no row "${to}", but ${[...commands.keys()].join(', ')}`)
  for (const [written, actual] of Object.entries(instead)) {
    expect(command).toContain(written)
    command = command.replace(written, actual)
  }
  left.delete(to)
  const env = {
    ...process.env,
    KUBECONFIG: world.plane.kubeconfig,
    PATH: `${binariesFolder(CONTROL_PLANE)}:${process.env.PATH}`,
  }
  await promisify(execFile)('bash', ['-euc', `${command} --namespace=${world.namespace}`], { env })
}

/** Devices `till-1` and on, in the order of their batches. */
const tills = async (app: string, count: number): Promise<readonly Machine[]> => {
  const machines: Machine[] = []
  for (let i = 1; i <= count; i++) machines.push(await world.device(`till-${i}-${app}`, { app, till: String(i) }))
  for (const { name } of machines)
    await world.until(async () => expect(await world.kube.get(Device, name)).toBeDefined())
  return machines
}

const oneAfterTheOther = (app: string, rollout: DeepPartial<DeploymentSpec['rollout']> = {}) => ({
  targetSelector: { matchLabels: { app } },
  rollout: {
    strategy: 'Batches' as const,
    batches: [1, 2].map((i) => ({ selector: { matchLabels: { till: String(i) } } })),
    successThreshold: 100,
    ...rollout,
  },
})

/** Waits until each device is to run this revision; undefined is none. */
const revisions = (app: string, machines: readonly Machine[], ...wanted: readonly (number | undefined)[]) =>
  world.until(async () => {
    const found = await Promise.all(machines.map(async (machine) => (await machine.wanted())[app]))
    expect(found).toEqual(wanted)
  })

const reaches = (app: string, status: object) =>
  world.until(async () => expect((await world.deployment(app))?.status).toMatchObject(status))

/** Each gets the revision in its turn, and runs it. */
const rollsOut = async (app: string, machines: readonly Machine[], revision: number): Promise<void> => {
  for (const machine of machines) {
    await world.until(async () => expect((await machine.wanted())[app]).toBe(revision))
    await machine.say(app)
  }
  await reaches(app, { revision, rollout: { phase: 'Inactive' } })
}

// Journey 5
test('pause, go on, go on in spite of a bad batch, take back', async () => {
  const app = 'till-display'
  const machines = await tills(app, 3)
  const [first, second, third] = machines as [Machine, Machine, Machine]
  await world.deploy(app, oneAfterTheOther(app))
  await revisions(app, machines, 1, undefined, undefined)
  await type('pause, go on')
  await first.say(app)
  await reaches(app, { rollout: { phase: 'Paused' }, aggregate: { succeeded: 1 } })
  await revisions(app, machines, 1, undefined, undefined)
  await type('pause, go on', { '"paused":true': '"paused":false' })
  await rollsOut(app, [second, third], 1)

  await world.change(app, { spec: { score: scoreOf('two') } })
  await revisions(app, machines, 2, 1, 1)
  await first.say(app, { phase: 'Failed', message: 'no network' })
  await reaches(app, { rollout: { phase: 'Suspended', batch: 1 } })
  await revisions(app, machines, 2, 1, 1)
  await type('go on in spite of a bad batch')
  await revisions(app, machines, 2, 2, 1)
  await first.say(app)
  await rollsOut(app, [second, third], 2)

  await world.change(app, { spec: { score: scoreOf('three') } })
  await revisions(app, machines, 3, 2, 2)
  await first.say(app)
  await revisions(app, machines, 3, 3, 2)
  await type('take revision 3 back')
  // A new revision with the workload of the one before; the third never had the bad one.
  await reaches(app, { revision: 4 })
  await first.say(app)
  await world.until(async () => expect((await first.wanted())[app]).toBe(4))
  const { score } = (await world.deployment(app))?.spec ?? {}
  expect(score).toEqual(scoreOf('three'))
})

test('a batch begins when it is approved, and a device that is held gets nothing', async () => {
  const app = 'till-firmware'
  const machines = await tills(app, 3)
  const [first, second, third] = machines as [Machine, Machine, Machine]
  await world.deploy(app, oneAfterTheOther(app, { approval: 'Manual' }))
  await revisions(app, machines, 1, undefined, undefined)
  await first.say(app)
  await reaches(app, { rollout: { phase: 'Waiting', message: expect.stringContaining('2@1') } })
  await type('let batch 2 of revision 1 begin')
  await revisions(app, machines, 1, 1, undefined)
  await second.say(app)
  await type('let batch 2 of revision 1 begin', { '2@1': '3@1' })
  await rollsOut(app, [third], 1)

  await type('keep changes off a device', { 'till-1': first.name })
  await world.change(app, { spec: { score: scoreOf('two') } })
  await reaches(app, { revision: 2, aggregate: { held: expect.any(Number) } })
  await world.until(async () => {
    const { offenders } = (await world.deployment(app))?.status?.aggregate ?? {}
    expect(JSON.stringify(offenders)).toContain('stocktaking')
  })
  await revisions(app, machines, 1, 1, 1)
})

test('the table has nothing else that a person types', () => {
  // What a lost history left: test/integration/fleet/features.test.ts.
  expect([...left]).toEqual(['overwrite what a lost history left'])
})
