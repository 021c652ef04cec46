/** How a revision is taken back, on a real NATS and a real API server. docs/fleet-rollouts.md. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { DeepPartial } from '#operator/index.ts'
import { type FleetWorld, fleetWorld, type Machine, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld

beforeAll(async () => {
  world = await fleetWorld()
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

interface Web {
  readonly name: string
  readonly machines: readonly Machine[]
  /** By device, without the suffix of this world. */
  revisions(): Promise<Readonly<Record<string, number | undefined>>>
  /** What a device was given runs. */
  say(...devices: readonly Machine[]): Promise<void>
}

/** A Deployment whose revision 2 is approved, and runs on a canary and three others. */
const rolledOut = async (name: string, rollout: DeepPartial<DeploymentSpec['rollout']>): Promise<Web> => {
  const shorts = [`${name}-c`, `${name}-x`, `${name}-y`, `${name}-z`]
  const machines: Machine[] = []
  for (const short of shorts)
    machines.push(await world.device(short, { app: name, ...(short.endsWith('-c') && { ring: 'canary' }) }))
  // A batch is frozen of the Devices that there are.
  for (const machine of machines)
    await world.until(async () => expect(await world.kube.get(Device, machine.name)).toBeDefined())
  const web: Web = {
    name,
    machines,
    revisions: async () => {
      const all = await Promise.all(machines.map(async (one, i) => [shorts[i], (await one.wanted())[name]] as const))
      return Object.fromEntries(all)
    },
    say: async (...devices) => {
      for (const device of devices) await device.say(name)
    },
  }
  await world.deploy(name, {
    targetSelector: { matchLabels: { app: name } },
    score: scoreOf('one'),
    rollout: {
      strategy: 'Batches',
      batches: [{ selector: { matchLabels: { ring: 'canary' } } }],
      successThreshold: 100,
      ...rollout,
    },
  })
  for (const revision of [1, 2]) {
    if (revision === 2) await world.change(name, { spec: { score: scoreOf('two') } })
    for (const batch of [[machines[0]], machines.slice(1)])
      for (const machine of batch) {
        if (machine === undefined) continue
        await world.until(async () => expect(await machine.wanted()).toEqual({ [name]: revision }))
        await machine.say(name)
      }
    await world.until(async () =>
      expect((await world.deployment(name))?.status).toMatchObject({
        ready: '4/4',
        revision,
        rollout: { phase: 'Inactive' },
      }),
    )
  }
  return web
}

const abort = (web: Web, revision: number) =>
  world.change(web.name, { metadata: { annotations: { 'fleet.nationtech.io/abort-revision': String(revision) } } })

const reaches = (web: Web, status: object) =>
  world.until(async () => expect((await world.deployment(web.name))?.status).toMatchObject(status))

// FLEET-74
test('without a word of it, a rollout in batches goes back in batches; what is down goes back at once', async () => {
  const web = await rolledOut('calm', {})
  const [canary, , down, late] = web.machines
  if (canary === undefined || down === undefined || late === undefined) throw new Error('there are four devices')
  await down.say('calm', { phase: 'Failed', message: 'no such file' })
  await reaches(web, { aggregate: { failed: 1 } })
  await abort(web, 2)

  await reaches(web, {
    revision: 3,
    rollout: { phase: 'Active', batch: 1, revision: 3 },
    aggregate: { targeted: 2, held: 2 },
  })
  expect(await web.revisions()).toEqual({ 'calm-c': 3, 'calm-x': 2, 'calm-y': 3, 'calm-z': 2 })
  // FLEET-75: it gets the workload of revision 1 under its number.
  const joined = await world.device('calm-new', { app: 'calm' })
  await world.until(async () => expect(await joined.wanted()).toEqual({ calm: 1 }))
  await joined.say('calm')

  await web.say(canary, down)
  await world.until(async () =>
    expect(await web.revisions()).toEqual({ 'calm-c': 3, 'calm-x': 3, 'calm-y': 3, 'calm-z': 3 }),
  )
  await web.say(...web.machines)
  await reaches(web, { ready: '5/5', rollout: { phase: 'Inactive', revision: 3 } })
})

// FLEET-74
test('a person who has no time writes Immediate while it goes back, and the rest goes at once', async () => {
  const web = await rolledOut('hasty', {})
  await abort(web, 2)
  await reaches(web, { rollout: { phase: 'Active', batch: 1, revision: 3 }, aggregate: { targeted: 1, held: 3 } })
  await world.change('hasty', { spec: { rollout: { rollback: { strategy: 'Immediate' } } } })
  await world.until(async () =>
    expect(await web.revisions()).toEqual({ 'hasty-c': 3, 'hasty-x': 3, 'hasty-y': 3, 'hasty-z': 3 }),
  )
})

// FLEET-74
test('Batches that a rollout does not have are refused', async () => {
  await expect(
    world.deploy('wrong', { rollout: { strategy: 'AllAtOnce', rollback: { strategy: 'Batches' } } }),
  ).rejects.toThrow('rollback.strategy Batches needs the strategy Batches, and batches')
})
