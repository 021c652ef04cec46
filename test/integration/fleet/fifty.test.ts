/** Fifty devices, each a real agent with a key of its own, through one rollout in batches. docs/fleet-rollouts.md, docs/fleet-keys.md. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { readCredentials } from '#lib/nats/security.ts'
import { systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { runAgent } from '#services/agent/index.ts'
import { muster } from '../cmd/run.ts'
import { type FleetWorld, fleetWorld } from './world.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const COUNT = 50
const CANARIES = 2
const NAME = 'till-display'

let world: FleetWorld
const stop = new AbortController()
let agents: readonly Promise<void>[] = []

const startAgent = async (folder: string, device: string, labels: Readonly<Record<string, string>>): Promise<void> => {
  const stateDir = join(folder, 'state', device)
  const authenticator = await readCredentials(join(folder, `devices/${device}.nk`))
  const programs = {
    user: 'self',
    folder: `${stateDir}-programs`,
    uids: { first: 1_000, last: 1_001 },
    secrets: [],
  } as const
  await runAgent(
    {
      device,
      labels: { world: world.namespace, ...labels },
      version: '1',
      publicKeys: undefined,
      nats: { url: world.nats.url, authenticator, ca: undefined },
      stateDir,
      cluster: undefined,
      inventory: {},
      programs,
      stopWorkloads: true,
      clock: systemClock,
      log: silent,
    },
    stop.signal,
  )
}

beforeAll(async () => {
  const folder = await temporaryFolder('fifty')
  // Devices are the cluster's, which other tests use as well.
  const names = Array.from({ length: COUNT }, (_, i) => `till-${i + 1}-${process.pid}`)
  const file = join(folder, 'names.txt')
  await writeFile(file, names.join('\n'))
  const { code, output } = await muster(['fleet', 'credentials', '--device-names', file, '--output', folder])
  expect(code, output).toBe(0)
  world = await fleetWorld(folder)
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  agents = names.map((device, i) => startAgent(folder, device, i < CANARIES ? { ring: 'canary' } : {}))
})

afterAll(async () => {
  stop.abort()
  await Promise.all(agents)
  await world?.[Symbol.asyncDispose]()
})

const status = async () => (await world.deployment(NAME))?.status

const reaches = (wanted: object) => world.until(async () => expect(await status()).toMatchObject(wanted))

/** What the message asks for. */
const approve = async (batch: number): Promise<void> => {
  const { message = '' } = (await status())?.rollout ?? {}
  const approval = new RegExp(`\\b${batch}@[\\d.]*\\d`).exec(message)?.[0]
  if (approval === undefined) throw new Error(`no approval of batch ${batch} is asked for: ${message}`)
  await world.change(NAME, { metadata: { annotations: { 'fleet.nationtech.io/approve-batch': approval } } })
}

// Journey 5
test('fifty agents get a program batch by batch, each when a person says so, and none while a person has it paused', async () => {
  // Batches are drawn of the Devices that there are.
  await world.until(async () => {
    const devices = await Array.fromAsync(world.kube.list(Device, { labelSelector: `world=${world.namespace}` }))
    expect(devices).toHaveLength(COUNT)
  })
  await world.deploy(NAME, {
    score: { type: 'Process', data: { command: ['/usr/bin/sleep', 'infinity'] } },
    rollout: {
      strategy: 'Batches',
      batches: [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: '25%' }],
      approval: 'Manual',
      successThreshold: 95,
    },
  })
  await reaches({ aggregate: { succeeded: CANARIES, held: COUNT - CANARIES }, rollout: { phase: 'Waiting' } })

  await world.change(NAME, { spec: { rollout: { paused: true } } })
  await reaches({ rollout: { phase: 'Paused' } })
  await world.change(NAME, { spec: { rollout: { paused: false } } })
  await reaches({ rollout: { phase: 'Waiting' } })
  await approve(2)
  const quarter = Math.ceil(COUNT / 4)
  await reaches({ aggregate: { succeeded: CANARIES + quarter }, rollout: { phase: 'Waiting' } })
  await approve(3)
  await reaches({ ready: `${COUNT}/${COUNT}`, aggregate: { succeeded: COUNT }, rollout: { phase: 'Inactive' } })
})
