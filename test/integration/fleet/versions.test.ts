/** Two releases of the operator side by side, as while an upgrade goes on. */

import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { canonicalText, digestOf, open } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { type FleetWorld, fleetWorld, scoreOf } from './world.ts'

vi.setConfig({ testTimeout: 180_000 })

let world: FleetWorld

beforeEach(async () => {
  world = await fleetWorld()
})

afterEach(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** A later release as far as it matters here: what is written in the form of an earlier one, it writes in its own. */
const laterRelease = async () => {
  const connection = await connect({ servers: world.nats.url, reconnect: false })
  const kv = await new Kvm(connection).open('fleet-desired', { allow_direct: true })
  const watch = await kv.watch()
  let written = 0
  const working = (async () => {
    for await (const { key, operation, value, revision } of watch) {
      if (operation !== 'PUT' || JSON.parse(Buffer.from(value).toString()).schema !== 1) continue
      const { generation, payload } = open(value)
      const next = { ...payload, form: 'later' }
      written += 1
      await kv.put(key, canonicalText({ schema: 2, generation, digest: digestOf(next), payload: next }), {
        previousSeq: revision,
      })
    }
  })()
  return {
    written: () => written,
    async [Symbol.asyncDispose]() {
      watch.stop()
      await working
      await connection.close()
    },
  }
}

// FLEET-65
test('two_versions_overlap_no_flap: each entry is written once by each, and the earlier release says why it leaves it alone', async () => {
  const operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  await using later = await laterRelease()
  const machines = await Promise.all(['a', 'b', 'c'].map((name) => world.device(name)))
  await world.deploy('web')
  const condition = async () =>
    (await world.deployment('web'))?.status?.conditions?.find(({ type }) => type === 'Reconciling')
  await world.until(async () => {
    const { aggregate } = (await world.deployment('web'))?.status ?? {}
    expect(aggregate).toMatchObject({ matched: machines.length, held: machines.length })
    expect(await condition()).toMatchObject({ status: 'True', reason: 'LaterRelease' })
  })
  // It looks at each again: at a change of the workload, and at its start.
  await world.change('web', { spec: { score: scoreOf('next') } })
  await world.until(async () => expect((await world.deployment('web'))?.status).toMatchObject({ revision: 2 }))
  await operator.stop()
  const second = await world.operator()
  await world.until(() => expect(second.view.recovery().phase).toBe('Converged'))
  // What is wanted of this release is written by it: so it has looked at all keys.
  await world.deploy('own')
  await world.until(() => expect(later.written()).toBe(2 * machines.length))
  expect(await world.revision('fleet-desired')).toBe(4 * machines.length)

  await world.kube.delete(Deployment, 'web', world.namespace)
  await world.until(async () => expect(await world.deployment('web')).toBeUndefined())
  expect(Object.keys(await world.texts('fleet-desired')).filter((key) => key.endsWith('.web'))).toEqual([])
})
