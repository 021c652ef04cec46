/** What a tenant gets that may create, patch and update the objects of tasks, under any field manager, and delete none. In memory. */
import { describe, expect, test, vi } from 'vitest'
import type { SharedWorldOptions, TaskName } from '#test/worlds/adapter/shared-tasks.ts'
import { SharedWorld } from '#test/worlds/adapter/shared-world.ts'

const world = (options: Partial<SharedWorldOptions> = {}) =>
  new SharedWorld({ isBare: false, delays: [0], readsAll: true, ...options })
const runs = (...tasks: readonly TaskName[]) => tasks.map((task) => ({ task, cluster: 'c1' as const }))
const settle = async (it: SharedWorld, ...tasks: readonly TaskName[]) => {
  for (let round = 0; round < 8; round++) {
    await it.rest()
    await it.run(runs(...tasks))
  }
}
const health = (it: SharedWorld, task: TaskName) => it.conditionOf({ task, cluster: 'c1' }, 'Health')
const IN_TWO = { left: 'n', far: 'm' } as const

// ADAPTER-116
describe('attack: a task of another namespace names the object too, and was refused; a tenant writes its field manager on the object', () => {
  test('with a field of it: one of the two stays healthy', async () => {
    const it = world({ tasks: IN_TWO, colours: { left: 'red', far: 'red' } })
    await it.run(runs('left'))
    await settle(it, 'left', 'far')
    expect([health(it, 'left'), health(it, 'far')]).toEqual(['True', 'False'])
    it.forge({ name: 'all', manager: 'muster-adapter-m/far', fields: { data: { colour: 'blue' } } })
    await settle(it, 'left', 'far')
    expect([health(it, 'left'), health(it, 'far')]).toContain('True')
  })

  test('with a field of its own: when the resource goes, the object goes', async () => {
    const it = world({ tasks: IN_TWO })
    await it.run(runs('left'))
    await settle(it, 'left', 'far')
    it.forge({ name: 'all', manager: 'muster-adapter-m/far', fields: { annotations: { any: 'x' } } })
    it.delete('c1')
    await it.run(runs('left'))
    await settle(it, 'left', 'far')
    expect([it.isThere('c1'), it.recorded()]).toEqual([false, []])
    expect(it.cluster.names()).toEqual([])
  })
})

// ADAPTER-122
describe('attack: a tenant takes the field manager of a task off an object that two tasks share', () => {
  test.each([
    ['all of them', (it: SharedWorld) => it.unmanage('all')],
    [
      'by an apply in its name',
      (it: SharedWorld) => it.forge({ name: 'all', manager: 'muster-adapter-n/right', fields: {} }),
    ],
  ])('%s: the other one leaves it to the first, which still has it', async (_, take) => {
    const it = world()
    await settle(it, 'left', 'right')
    it.select('left', 'c1', false)
    take(it)
    await it.run(runs('left'))
    expect(it.taken).toEqual([])
  })
})

// ADAPTER-122
test('attack: a tenant takes the field managers off; a task of another namespace, refused before, is refused again, and the first keeps the object', async () => {
  const it = world({ tasks: IN_TWO, colours: { left: 'red', far: 'blue' } })
  await it.run(runs('left'))
  await settle(it, 'left', 'far')
  expect([health(it, 'left'), health(it, 'far')]).toEqual(['True', 'False'])
  for (const name of ['all', 'of-c1']) it.unmanage(name)
  await it.run(runs('far'))
  await settle(it, 'left', 'far')
  expect([health(it, 'left'), health(it, 'far')]).toEqual(['True', 'False'])
})

// ADAPTER-123
test('attack: a tenant writes under the name of a task that keeps what it has, and runs no more: the one that lives puts it right', async () => {
  const it = world({ retention: { right: { whenUnselected: 'Keep' } } })
  await it.run(runs('left'))
  await settle(it, 'left', 'right')
  it.select('right', 'c1', false)
  await settle(it, 'left', 'right')
  expect(health(it, 'left')).toBe('True')
  const fields = { labels: { 'muster.dev/adapter': 'right' }, data: { colour: 'blue' } }
  it.forge({ name: 'all', manager: 'muster-adapter-n/right', fields })
  await settle(it, 'left', 'right')
  expect(health(it, 'left')).toBe('True')
})

// ADAPTER-122
test.each([
  ['the label', {}],
  ['the label and the fields', { data: { colour: 'green' } }],
])(
  'attack: a tenant overwrites %s that say whose an object is: a task that was refused because its fields differ is refused again',
  async (_, data) => {
    const it = world({ colours: { left: 'red', right: 'blue' } })
    await it.run(runs('left'))
    await settle(it, 'left', 'right')
    expect([health(it, 'left'), health(it, 'right')]).toEqual(['True', 'False'])
    for (const name of ['all', 'of-c1'])
      it.forge({ name, manager: 'kubectl', fields: { labels: { 'muster.dev/adapter': 'any' }, ...data } })
    await it.run(runs('right'))
    await settle(it, 'left', 'right')
    expect([health(it, 'left'), health(it, 'right')]).toEqual(['True', 'False'])
  },
)

// ADAPTER-125
test('attack: a tenant writes the mark of a task that was refused on an object of another one, and overwrites whose it is: it is refused again', async () => {
  const it = world({ colours: { left: 'red', right: 'blue' } })
  await it.run(runs('left'))
  await settle(it, 'left', 'right')
  const inventories = [...it.cluster.stored.values()].filter(({ kind }) => kind === 'AdapterInventory')
  const mark = inventories.find(({ spec }) => (spec as { task?: string }).task === 'right')?.metadata.uid ?? ''
  expect(mark).not.toBe('')
  const labels = { 'muster.dev/adapter': 'any' }
  const fields = { labels, annotations: { 'muster.dev/inventory': mark }, data: { colour: 'green' } }
  for (const name of ['all', 'of-c1']) it.forge({ name, manager: 'kubectl', fields })
  await it.run(runs('right'))
  await settle(it, 'left', 'right')
  expect([health(it, 'left'), health(it, 'right'), it.colourOf('all')]).toEqual(['True', 'False', 'red'])
})

// ADAPTER-125
test('attack: a tenant writes the label of a task beside the first on an object of the first, and overwrites whose it is: the first stays it', async () => {
  const it = world()
  await it.run(runs('left'))
  await settle(it, 'left', 'right')
  const forge = (label: string) => {
    for (const name of ['all', 'of-c1']) it.forge({ name, manager: 'kubectl', fields: { labels: { [label]: '' } } })
  }
  forge('shared.muster.dev/left')
  await settle(it, 'left')
  forge('muster.dev/adapter')
  it.paint('blue', ['right'])
  await it.run(runs('right'))
  await settle(it, 'left', 'right')
  expect([health(it, 'left'), health(it, 'right'), it.colourOf('all')]).toEqual(['True', 'False', 'red'])
})

// ADAPTER-118
describe('attack: a tenant writes a hundred field managers of one other namespace on an object', () => {
  const forge = (it: SharedWorld, fields: Parameters<SharedWorld['forge']>[0]['fields']) => {
    for (let at = 0; at < 100; at++) it.forge({ name: 'all', manager: `muster-adapter-m/a${at}`, fields })
  }
  const lasts = async (it: SharedWorld) => {
    const before = it.passed
    await it.run(runs('left'))
    return it.passed - before
  }
  test('its deletion does not wait a second for each', async () => {
    const it = world({ tasks: { left: 'n' } })
    await settle(it, 'left')
    forge(it, { annotations: { any: 'x' } })
    it.delete('c1')
    expect(await lasts(it)).toBeLessThanOrEqual(10_000)
    expect(it.cluster.names()).toEqual([])
  })
  test('and one of its fields: the next run does not wait a second for each', async () => {
    const it = world({ tasks: { left: 'n' } })
    await settle(it, 'left')
    forge(it, { data: { colour: 'blue' } })
    expect(await lasts(it)).toBeLessThanOrEqual(10_000)
  })
})

// ADAPTER-119
test('attack: a tenant writes another generation on an object that is created anew for a new one: it stays as it is', async () => {
  const it = world({ tasks: { left: 'n' }, recreates: true })
  await settle(it, 'left')
  const uid = it.cluster.uid('all')
  it.forge({ name: 'all', manager: 'kubectl', fields: { annotations: { 'hyperfleet.io/generation': '0' } } })
  await settle(it, 'left')
  expect(it.cluster.uid('all')).toBe(uid)
})

// ADAPTER-64
test('attack: a tenant copies the mark of an inventory to a later object of the same name, of another writer: it stays when the resource goes', async () => {
  const it = world({ tasks: { left: 'n' } })
  await settle(it, 'left')
  const path = [...it.cluster.applied.keys()].find((one) => one.endsWith('/of-left')) ?? ''
  const mark = [...it.cluster.stored.values()].find(({ kind }) => kind === 'AdapterInventory')?.metadata.uid ?? ''
  it.delete('c1')
  // A person deletes it, and another one makes one of the name.
  it.cluster.request({ method: 'DELETE', path, body: {} } as never)
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'of-left', namespace: 'n' },
    data: { own: 'x' },
  }
  it.cluster.request({ method: 'PATCH', path, query: { fieldManager: 'kubectl', force: true }, body } as never)
  it.forge({ name: 'of-left', manager: 'tenant', fields: { annotations: { 'muster.dev/inventory': mark } } })
  await settle(it, 'left')
  expect(it.cluster.names()).toEqual(['of-left'])
})

test('ADAPTER-120: an object that a person has deleted is made again, and goes with its resource, wherever a request of that run was cut', async () => {
  for (const isDone of [true, false])
    for (let at = 0; at < 16; at++) {
      const it = world({ tasks: { left: 'n' } })
      await settle(it, 'left')
      const path = [...it.cluster.applied.keys()].find((one) => one.endsWith('/of-left')) ?? ''
      it.cluster.request({ method: 'DELETE', path, body: {} } as never)
      await it.run(runs('left'), { task: 'left', at, does: 'kill', isDone })
      it.delete('c1')
      await settle(it, 'left')
      expect([it.cluster.names(), it.recorded()]).toEqual([[], []])
    }
})

describe('ADAPTER-121: an object whose fields can’t be taken off', () => {
  const IN_PART = { colours: { left: 'red', right: '' } }

  test.each([
    ['left', 'right'],
    ['right', 'left'],
  ] as const)('is left by the task %s, and goes with the other', async (first, last) => {
    const it = world(IN_PART)
    await it.run(runs('left'))
    await settle(it, 'left', 'right')
    for (const name of ['all', 'of-c1']) it.cluster.frozen.add(name)
    it.select(first, 'c1', false)
    await settle(it, first, last)
    expect([health(it, first), health(it, last)]).toEqual(['True', 'True'])
    expect(it.recorded().filter((one) => one.startsWith(first))).toEqual([])
    expect(it.cluster.names()).toEqual(expect.arrayContaining(['all', 'of-c1']))
    it.delete('c1')
    await settle(it, 'left', 'right')
    expect([it.cluster.names(), it.recorded()]).toEqual([[], []])
  })
})

test('ADAPTER-123: what a task has while it is suspended, another one puts right, and leaves to it', async () => {
  const it = world()
  await it.run(runs('left'))
  await settle(it, 'left', 'right')
  it.suspend('right')
  it.forge({
    name: 'all',
    manager: 'muster-adapter-n/right',
    fields: { labels: { 'muster.dev/adapter': 'right' }, data: { colour: 'blue' } },
  })
  await settle(it, 'left')
  expect(health(it, 'left')).toBe('True')
  it.unmanage('all')
  it.select('left', 'c1', false)
  await settle(it, 'left')
  expect([it.taken, it.cluster.names().includes('all')]).toEqual([[], true])
})

// ADAPTER-122
test.each([
  ['is to leave', (it: SharedWorld) => it.select('left', 'c1', false)],
  ['does not name any more', (it: SharedWorld) => it.idle('left')],
  ['makes anew', (it: SharedWorld) => it.change('c1')],
])(
  'attack: a tenant takes the field managers off before the first task has seen that a second one has come: it leaves the object all the same, which it %s',
  async (_, leave) => {
    const it = world({ recreates: true })
    await it.run(runs('left'))
    await it.rest()
    await it.run(runs('right'))
    for (const name of ['all', 'of-c1']) it.unmanage(name)
    leave(it)
    await settle(it, 'left')
    const taken = it.taken.filter((one) => one.includes(' of right '))
    expect([taken, it.cluster.names().includes('all')]).toEqual([[], true])
  },
)

test('ADAPTER-122: an object that one task alone has is never looked for in other inventories', async () => {
  const it = world({ tasks: { left: 'n' } })
  const sent = vi.spyOn(it.cluster, 'request')
  await settle(it, 'left')
  it.delete('c1')
  await settle(it, 'left')
  expect(it.cluster.names()).toEqual([])
  const lists = sent.mock.calls.filter(([{ method, path }]) => method === 'GET' && path.endsWith('/adapterinventories'))
  expect(lists.filter(([{ query }]) => query?.labelSelector === undefined)).toEqual([])
})
