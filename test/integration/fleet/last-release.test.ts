/** The operator of the last release, the bundle that it ships, and today's: side by side, and one after the other. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { drill } from '#cmd/fleet/drill.ts'
import { lastRelease, lastReleaseMissing, startMuster } from '#test/harness/index.ts'
import { converged, type FleetWorld, fleetWorld, type Machine, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 240_000 })

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

const missing = lastReleaseMissing()
if (missing !== undefined) console.error(`tests of upgrades of the fleet are skipped: ${missing}`)

const given = async (machines: readonly Machine[], wanted: Readonly<Record<string, number>>): Promise<void> => {
  for (const machine of machines) await world.until(async () => expect(await machine.wanted()).toEqual(wanted))
}

test('in CI there is a last release: an upgrade may not be left out', () => {
  if (process.env.CI === 'true') expect(missing).toBeUndefined()
})

describe.skipIf(missing !== undefined)('the last release', () => {
  test('is the bundle of the commit that hack/compatibility/last-release.txt names', async () => {
    const [node, ...before] = await lastRelease()
    const { stdout } = await promisify(execFile)(node, [...before, 'version'])
    expect(stdout).toContain(readFileSync('hack/compatibility/last-release.txt', 'utf8').trim().slice(0, 7))
  })

  // FLEET-65, FLEET-6
  test('two_versions_overlap_no_flap: beside today’s, each key is written once, whichever leads', async () => {
    const old = await world.process({ command: await lastRelease() })
    await converged(old)
    const machines = await Promise.all(['a', 'b', 'c'].map((name) => world.device(name)))
    await world.deploy('web')
    await given(machines, { web: 1 })
    const today = await world.process()
    await converged(today)
    await world.change('web', { spec: { score: scoreOf('next') } })
    await given(machines, { web: 2 })
    for (const machine of machines) await machine.say('web')
    await world.until(async () =>
      expect((await world.deployment('web'))?.status).toMatchObject({ revision: 2, aggregate: { succeeded: 3 } }),
    )
    // Now today's leads, while the last release comes back behind it.
    await old.stop()
    await converged(await world.process({ command: await lastRelease() }))
    await world.deploy('more')
    await given(machines, { web: 2, more: 1 })
    for (const machine of machines) await machine.say('more')
    await world.until(async () =>
      expect((await world.deployment('more'))?.status).toMatchObject({ aggregate: { succeeded: 3 } }),
    )
    expect(await world.revision('fleet-desired')).toBe(3 * machines.length)
  })

  // FLEET-66
  test('upgrade_gate: what the last release left is as today’s drill wants it', async () => {
    const old = await world.process({ command: await lastRelease() })
    await converged(old)
    const machines = [await world.device('a', { ring: 'a' }), await world.device('b', { ring: 'b' })] as const
    await world.deploy('all')
    await world.deploy('some', { targetSelector: { matchLabels: { ring: 'a', world: world.namespace } } })
    await world.deploy('waves', {
      rollout: { strategy: 'Batches', batches: [{ limit: 1 }], approval: 'Manual' },
    })
    const [a, b] = machines
    await world.until(async () => expect(await a.wanted()).toMatchObject({ all: 1, some: 1 }))
    await world.until(async () => expect(await b.wanted()).toMatchObject({ all: 1 }))
    for (const machine of machines) for (const name of Object.keys(await machine.wanted())) await machine.say(name)
    await world.until(async () =>
      expect((await world.deployment('waves'))?.status).toMatchObject({ revision: 1, aggregate: { matched: 2 } }),
    )
    await old.stop()
    const { text, isOpen } = await drill({
      natsUrl: world.nats.url,
      natsCredentials: undefined,
      namespace: world.namespace,
      output: 'json',
      kubeconfig: await world.kubeconfig(),
      context: undefined,
    })
    expect([JSON.parse(text), isOpen]).toEqual([
      {
        revisions: [],
        puts: [],
        deletes: [],
        conflicts: [],
        // Its first batch waits to be approved.
        waiting: machines.map(({ name }) => ({ key: `${name}.${world.namespace}.waves`, reason: 'NotItsTurn' })),
        later: [],
        problems: [],
      },
      false,
    ])

    // The gate can close: a key of which today’s would make other bytes than there are ends the drill with 1.
    await world.bucket('fleet-desired', async (kv) => {
      const key = `${a.name}.${world.namespace}.all`
      const { generation, payload } = desiredCodec.decode((await kv.get(key))?.value ?? new Uint8Array())
      await kv.put(key, desiredCodec.encode(payload, generation + 1))
    })
    await using today = await startMuster([
      'fleet',
      'drill',
      `--kubeconfig=${await world.kubeconfig()}`,
      `--nats-url=${world.nats.url}`,
      `--namespace=${world.namespace}`,
    ])
    expect(await today.exited).toMatchObject({ code: 1 })
    expect(today.output()).toContain(`${a.name}.${world.namespace}.all`)
  })
})
