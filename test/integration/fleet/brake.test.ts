/** Keys that seem needed by nothing, while the operator runs: a selector that a slip of the pen changed, Devices that vanish. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { commandsWith, readPage } from '../docs/page.ts'
import { type FleetWorld, fleetWorld, type Machine, type Running } from './world.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

/** More than twenty: so many are never deleted unasked in a fleet of this size. */
const MANY = 25

let world: FleetWorld
let operator: Running
let machines: readonly Machine[]

beforeAll(async () => {
  world = await fleetWorld()
  operator = await world.operator()
  await world.until(() => expect(operator.view.recovery().phase).toBe('Converged'))
  machines = await Promise.all(Array.from({ length: MANY }, (_, i) => world.device(`m${i}`, { ring: 'all' })))
  await world.deploy('web', { targetSelector: { matchLabels: { ring: 'all', world: world.namespace } } })
  await world.until(async () => expect(await keys()).toHaveLength(MANY))
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const keys = async () => Object.keys(await world.texts('fleet-desired')).toSorted()

const lease = () => ({ name: `muster-fleet-${world.namespace}`, namespace: world.namespace })

const held = () =>
  world.until(() => {
    const { brake } = operator.view.recovery()
    if (brake === undefined) throw new Error('the brake does not hold')
    expect(brake.count).toBe(MANY)
    return brake
  })

const free = () => world.until(() => expect(operator.view.recovery().brake).toBeUndefined())

const select = (ring: string) =>
  world.change('web', { spec: { targetSelector: { matchLabels: { ring, world: world.namespace } } } })

/** Events about the brake whose note has what releases it. */
const warnings = async (release: string): Promise<readonly BrakeEvent[]> => {
  const path = `/apis/events.k8s.io/v1/namespaces/${world.namespace}/events`
  const { items } = await world.plane.rest<{ readonly items: readonly BrakeEvent[] }>('GET', path)
  return items.filter(({ reason, note }) => reason === 'OrphansHeld' && note?.includes(release))
}

/** Kinds of the objects that these are of. */
const warned = async (release: string): Promise<readonly string[]> =>
  (await warnings(release)).map(({ regarding }) => regarding.kind).toSorted()

interface BrakeEvent {
  readonly reason?: string
  readonly note?: string
  readonly regarding: { readonly kind: string; readonly name: string }
}

/** As docs/fleet.md has a person do it: the first command lists the events with the value, the second one writes it. */
const release = async (value: string): Promise<void> => {
  const [list = '', annotate = ''] = commandsWith(await readPage('docs/fleet.md'), 'release-deletions=').split('\n')
  const kubectl = (command: string) => world.plane.kubectl(...command.split(' ').slice(1))
  await world.until(async () => expect(await kubectl(`${list} -o yaml`)).toContain(value))
  const { name, namespace } = lease()
  await kubectl(
    annotate
      .replace('lease muster-fleet', `lease ${name}`)
      .replace('hyperfleet-system', namespace)
      .replace('VALUE', value),
  )
}

// FLEET-61, FLEET-108
test('inferred_deletions_are_held: a selector that matches nothing any more stops no program, and says what it would do', async () => {
  const [before, revision] = [await keys(), await world.revision('fleet-desired')]
  await select('al')
  const brake = await held()
  expect(brake.keys.map(({ key }) => key).toSorted()).toEqual(before)
  expect(brake.message).toContain(`${world.namespace}/web on ${MANY} devices (it no longer selects them)`)
  await world.until(async () => expect(await warned(brake.release)).toEqual(['Deployment', 'Lease']))
  expect(await keys()).toEqual(before)

  await select('all')
  await free()
  // Nothing was taken away, so nothing is given again.
  expect(await world.revision('fleet-desired')).toBe(revision)
})

// FLEET-61, FLEET-52
test('vanished_devices_keep_what_they_run: their Devices are made again of what their agents tell', async () => {
  const [before, revision] = [await keys(), await world.revision('fleet-desired')]
  await Promise.all(machines.map(({ name }) => world.kube.delete(Device, name)))
  await world.until(async () => {
    for (const { name } of machines) expect(await world.kube.get(Device, name)).toBeDefined()
  })
  await free()
  expect(await keys()).toEqual(before)
  expect(await world.revision('fleet-desired')).toBe(revision)
})

// FLEET-61
test('a few are deleted at once; what was released by a person goes, and nothing else', async () => {
  const [one, ...rest] = machines
  await one?.tell({ ring: 'none' })
  await world.until(async () => expect(await keys()).toHaveLength(rest.length))
  expect(operator.view.recovery().brake).toBeUndefined()

  await select('nobody')
  const brake = await world.until(() => {
    const { brake: now } = operator.view.recovery()
    if (now?.count !== rest.length) throw new Error('the brake does not hold')
    return now
  })
  await release(brake.release)
  await world.until(async () => expect(await keys()).toEqual([]))
  await free()
})

// RUNTIME-71
test('a leader counts on from what the one before it deleted: a change of leaders lets no more through', async () => {
  await select('all')
  await world.until(async () => expect(await keys()).toHaveLength(MANY - 1))
  const half = machines.slice(1, 13)
  for (const machine of half) await machine.tell({ ring: 'none' })
  await world.until(async () => expect(await keys()).toHaveLength(MANY - 1 - half.length))
  await operator.stop()
  operator = await world.operator()
  await world.until(() => expect(operator.view.recovery()).toMatchObject({ phase: 'Converged', isLeading: true }))

  const before = await keys()
  await select('nobody')
  await world.until(() => expect(operator.view.recovery().brake?.count).toBe(before.length))
  expect(await keys()).toEqual(before)
  await select('all')
  await free()
})

// FLEET-108
test('attack: who reads the events of one Deployment has the names of others: it has its own, the Lease has all', async () => {
  const [{ length: count }, revision] = [await keys(), await world.revision('fleet-desired')]
  await world.deploy('till', { targetSelector: { matchLabels: { ring: 'all', world: world.namespace } } })
  // Not by its keys: each reading of these has a consumer in NATS, which has no room for so many.
  await world.until(async () => expect(await world.revision('fleet-desired')).toBeGreaterThanOrEqual(revision + count))
  for (const name of ['web', 'till'])
    await world.change(name, { spec: { targetSelector: { matchLabels: { ring: 'none', world: world.namespace } } } })
  const brake = await world.until(() => {
    const { brake: now } = operator.view.recovery()
    if (now?.count !== 2 * count) throw new Error('the brake does not hold all')
    return now
  })
  await world.until(async () => expect(await warned(brake.release)).toEqual(['Deployment', 'Deployment', 'Lease']))
  for (const { note = '', regarding } of await warnings(brake.release)) {
    const named = ['web', 'till'].filter((name) => note.includes(`${world.namespace}/${name}`))
    expect({ regarding, named }).toMatchObject({
      named: regarding.kind === 'Lease' ? ['web', 'till'] : [regarding.name],
    })
  }
})
