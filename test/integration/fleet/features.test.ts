/** What rollouts offer, each feature once, on a real NATS and a real API server. docs/fleet-rollouts.md. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { type Condition, findCondition } from '#operator/model/conditions.ts'
import { type FleetWorld, fleetWorld, type Machine, type Running, scoreOf } from './world.ts'

let world: FleetWorld
let operator: Running
let eu: Machine
let us: Machine

beforeAll(async () => {
  world = await fleetWorld()
  operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  eu = await world.device('eu', { region: 'eu', store: '17' })
  us = await world.device('us', { region: 'us' })
  for (const { name } of [eu, us])
    await world.until(async () => expect(await world.kube.get(Device, name)).toBeDefined())
})

afterAll(async () => {
  await operator?.stop()
  await world?.[Symbol.asyncDispose]()
})

const has = (machine: Machine, name: string) =>
  world.until(async () => expect(await machine.wanted()).toHaveProperty(name))
const lacks = (machine: Machine, name: string) =>
  world.until(async () => expect(await machine.wanted()).not.toHaveProperty(name))
const aggregate = (name: string, expected: object) =>
  world.until(async () => expect((await world.deployment(name))?.status?.aggregate).toMatchObject(expected))

// FLEET-31
test('an expression chooses among those that the selector matches', async () => {
  await world.deploy('chosen', { targetExpression: "device.labels.region == 'eu'" })
  await has(eu, 'chosen')
  await aggregate('chosen', { matched: 1 })
  expect(await us.wanted()).not.toHaveProperty('chosen')
})

// FLEET-115, FLEET-116
test('an expression that fails on some devices is told in a condition, and so is an approval of another revision', async () => {
  const condition = async (type: string) => findCondition((await world.deployment('typo'))?.status?.conditions, type)
  await world.deploy('typo', { targetExpression: "device.labels.store > '1'" })
  await has(eu, 'typo')
  await world.until(async () => expect(await condition('DevicesUndecided')).toMatchObject({ status: 'True' }))
  const { reason, message } = (await condition('DevicesUndecided')) ?? {}
  expect([reason, message]).toEqual([
    'ExpressionFails',
    expect.stringMatching(new RegExp(`^of 1 device .*; of ${us.name} the expression fails: .*store`)),
  ])
  await world.change('typo', { metadata: { annotations: { 'fleet.nationtech.io/approve-batch': '2@7' } } })
  await world.until(async () => expect(await condition('AnnotationIgnored')).toMatchObject({ status: 'True' }))
  expect((await condition('AnnotationIgnored'))?.message).toContain('approve-batch is for revision 7')
  await world.change('typo', {
    metadata: { annotations: { 'fleet.nationtech.io/approve-batch': null } },
    spec: { targetExpression: "device.labels.?store.orValue('0') > '1'" },
  })
  for (const type of ['DevicesUndecided', 'AnnotationIgnored'])
    await world.until(async () => expect(await condition(type)).toMatchObject({ status: 'False' }))
})

// FLEET-35
test('a device that lacks a key of a template gets nothing and says which, the others get theirs', async () => {
  await world.deploy('filled', {
    score: { type: 'Process', templated: true, data: { command: ['run', '{{ .device.labels.store }}'] } },
  })
  await has(eu, 'filled')
  await aggregate('filled', {
    matched: 2,
    targeted: 1,
    failed: 1,
    lastError: expect.stringContaining('no key "store"'),
  })
  // And once the rollout is suspended because of it.
  await world.until(async () =>
    expect((await world.deployment('filled'))?.status).toMatchObject({
      rollout: { phase: 'Suspended' },
      aggregate: { targeted: 1, failed: 1, held: 0, lastError: expect.stringContaining('no key "store"') },
    }),
  )
  const texts = await world.texts('fleet-desired')
  expect(texts[`${eu.name}.${world.namespace}.filled`]).toContain('["run","17"]')
})

// FLEET-29
test('a slot goes to the higher priority, all who want it say so, and it comes back when that one goes', async () => {
  await world.deploy('base', { slot: 'firmware' })
  await has(eu, 'base')
  await world.deploy('fix', { slot: 'firmware', priority: 10, targetExpression: "device.labels.region == 'eu'" })
  await has(eu, 'fix')
  await lacks(eu, 'base')
  await aggregate('base', {
    held: 1,
    offenders: expect.arrayContaining([expect.objectContaining({ device: eu.name })]),
  })
  const owners = async (read: Promise<{ status?: { conditions?: readonly Condition[] } } | undefined>) =>
    findCondition((await read)?.status?.conditions, 'MultipleOwners')
  const [base, fix] = [`${world.namespace}/base`, `${world.namespace}/fix`]
  const says = (read: () => Parameters<typeof owners>[0], expected: object) =>
    world.until(async () => expect(await owners(read())).toMatchObject(expected))
  const contested = { status: 'True', message: expect.stringContaining(`${base} wants it on 1 device`) }
  await says(() => world.deployment('fix'), contested)
  const taken = { status: 'True', reason: 'SlotTaken', message: expect.stringContaining(`${fix} has it on 1 device`) }
  await says(() => world.deployment('base'), taken)
  const both = `${fix} has the slot firmware, which is also wanted by ${base}`
  await says(() => world.kube.get(Device, eu.name), { status: 'True', message: expect.stringContaining(both) })
  expect(await owners(world.kube.get(Device, us.name))).toBeUndefined()
  await world.change('fix', { spec: { targetExpression: 'false' } })
  await has(eu, 'base')
  for (const name of ['base', 'fix']) await says(() => world.deployment(name), { status: 'False', reason: 'OneOwner' })
  await says(() => world.kube.get(Device, eu.name), { status: 'False', reason: 'OneOwner' })
})

// FLEET-45
test('a closed window writes nothing, and the status says when the next one opens', async () => {
  // In the other half of the year.
  const month = ((new Date().getUTCMonth() + 6) % 12) + 1
  await world.deploy('nightly', {
    rollout: { windows: [{ schedule: `0 2 1 ${month} *`, timeZone: 'Europe/Berlin', duration: '1h' }] },
  })
  await world.until(async () =>
    expect((await world.deployment('nightly'))?.status?.rollout).toMatchObject({
      phase: 'Waiting',
      message: expect.stringContaining('the next window opens at'),
    }),
  )
  expect(await eu.wanted()).not.toHaveProperty('nightly')
  await world.change('nightly', { spec: { rollout: { windows: null } } })
  await has(eu, 'nightly')
})

// FLEET-33, FLEET-34
test('a person and a taint keep changes off a device; a taint that removes takes away what is there', async () => {
  const change = (body: object) => world.kube.patch(Device, { name: us.name, type: 'merge', body })
  await change({ metadata: { annotations: { 'fleet.nationtech.io/hold': 'stocktaking' } } })
  await world.until(() => expect(operator.view.devices().find(({ name }) => name === us.name)).toBeDefined())
  await world.deploy('careful')
  await has(eu, 'careful')
  await aggregate('careful', {
    held: 1,
    offenders: expect.arrayContaining([
      expect.objectContaining({ message: 'a person holds changes back: stocktaking' }),
    ]),
  })
  await change({
    metadata: { annotations: { 'fleet.nationtech.io/hold': null } },
    spec: { taints: [{ key: 'lab', effect: 'NoSchedule' }] },
  })
  await aggregate('careful', {
    offenders: expect.arrayContaining([
      expect.objectContaining({ message: 'no toleration bears its taint lab:NoSchedule' }),
    ]),
  })
  await change({ spec: { taints: null } })
  await has(us, 'careful')
  await change({ spec: { taints: [{ key: 'lab', effect: 'NoExecute' }] } })
  await lacks(us, 'careful')
  await change({ spec: { taints: null } })
  await has(us, 'careful')
})

// FLEET-50
test('what a lost history left is not touched until a person overrules it', async () => {
  await world.deploy('restored', { score: scoreOf('restored'), targetExpression: "device.labels.region == 'eu'" })
  await has(eu, 'restored')
  await eu.say('restored', { revision: 7 })
  await aggregate('restored', {
    held: 1,
    offenders: [expect.objectContaining({ message: expect.stringContaining('overrule-revision=7') })],
  })
  await world.change('restored', { spec: { score: scoreOf('changed') } })
  await world.until(async () => expect((await world.deployment('restored'))?.status?.revision).toBe(2))
  expect(await eu.wanted()).toHaveProperty('restored', 1)
  await world.change('restored', { metadata: { annotations: { 'fleet.nationtech.io/overrule-revision': '7' } } })
  await world.until(async () =>
    expect((await world.texts('fleet-desired'))[`${eu.name}.${world.namespace}.restored`]).toContain('["changed"]'),
  )
})
