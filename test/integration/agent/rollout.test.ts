import { afterAll, beforeAll, expect, test } from 'vitest'
import { desiredCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { DeploymentSpec } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { DeepPartial } from '#operator/index.ts'
import { type FleetWorld, fleetWorld } from '../fleet/world.ts'
import { type AgentUnderTest, program, startAgent } from './world.ts'

let fleet: FleetWorld
const agents = new Map<string, AgentUnderTest>()
const CANARY = 'till-1'
const OTHERS = ['till-2', 'till-3']

beforeAll(async () => {
  fleet = await fleetWorld()
  await fleet.process()
  for (const till of [CANARY, ...OTHERS]) {
    const labels = `--labels=world=${fleet.namespace},ring=${till === CANARY ? 'canary' : 'rest'}`
    agents.set(till, await startAgent(`${fleet.namespace}-${till}`, fleet.nats.url, { args: [labels] }))
  }
})
afterAll(async () => {
  for (const agent of agents.values()) await agent[Symbol.asyncDispose]()
  await fleet[Symbol.asyncDispose]()
})

const programsOf = async (till: string): Promise<readonly number[]> => (await agents.get(till)?.programs()) ?? []

const keyOf = (till: string): string => `${fleet.namespace}-${till}.${fleet.namespace}.shop`

/** When the server took the entry that a device is to run, and which revision that is. */
const given = (till: string) =>
  fleet.bucket('fleet-desired', async (kv) => {
    const found = await kv.get(keyOf(till))
    if (found === null) throw new Error(`${till} was given nothing`)
    return { takenAt: found.created.getTime(), revision: desiredCodec.decode(found.value).payload.revision }
  })

/** When the server took what a device said last, and what that is. */
const said = (till: string) =>
  fleet.bucket('fleet-state', async (kv) => {
    const found = await kv.get(keyOf(till))
    if (found === null) throw new Error(`${till} said nothing`)
    return { ...stateCodec.decode(found.value).payload, takenAt: found.created.getTime() }
  })

const ROLLOUT: DeepPartial<DeploymentSpec>['rollout'] = {
  strategy: 'Batches',
  batches: [{ selector: { matchLabels: { ring: 'canary' } } }],
  successThreshold: 100,
}

const untilSucceeded = (revision: number) =>
  fleet.until(async () => {
    const { status } = (await fleet.deployment('shop')) ?? {}
    expect(status).toMatchObject({ revision, aggregate: { matched: 3, updated: 3, succeeded: 3 } })
  })

test('three agents tell who they are, and a Deployment reaches them in two batches: the canary runs it first', async () => {
  await fleet.until(async () => {
    const devices = await fleet.plane.kubectl(
      'get',
      'devices.fleet.nationtech.io',
      `-lworld=${fleet.namespace}`,
      '-oname',
    )
    expect(devices.trim().split('\n')).toHaveLength(3)
  })
  await fleet.deploy('shop', { score: program('exec sleep 1000'), rollout: ROLLOUT } as DeepPartial<DeploymentSpec>)
  await untilSucceeded(1)
  const canary = await said(CANARY)
  for (const till of OTHERS) expect((await given(till)).takenAt).toBeGreaterThanOrEqual(canary.takenAt)
  for (const agent of agents.values()) expect(await agent.programs()).toHaveLength(1)
})

test('a change that fails on the canary stops there: the programs of the others are not touched', async () => {
  const before = await Promise.all(OTHERS.map(programsOf))
  await fleet.change('shop', { spec: { score: program('exit 1') } })
  await fleet.until(async () => {
    expect((await fleet.deployment('shop'))?.status?.rollout?.phase).toBe('Suspended')
  })
  expect(await said(CANARY)).toMatchObject({ phase: 'Failed', revision: 2 })
  for (const till of OTHERS) expect((await given(till)).revision).toBe(1)
  expect(await Promise.all(OTHERS.map(programsOf))).toEqual(before)
})

test('what corrects it goes through, and a Deployment that is deleted leaves nothing running', async () => {
  await fleet.change('shop', { spec: { score: program('exec sleep 2000') } })
  await untilSucceeded(3)
  await fleet.plane.kubectl('delete', 'deployments.fleet.nationtech.io', 'shop', `--namespace=${fleet.namespace}`)
  await fleet.until(async () => {
    for (const agent of agents.values()) expect(await agent.programs()).toEqual([])
    expect(Object.keys(await fleet.texts('fleet-state'))).toEqual([])
  })
})
