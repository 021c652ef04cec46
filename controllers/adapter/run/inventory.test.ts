/** What a task has applied is taken away, whatever becomes of its resource, its labels, its generation and the task; and nothing else is. */
import { describe, expect, test } from 'vitest'
import {
  appliedBefore,
  conditionsOf,
  configMap,
  DELETED,
  deleting,
  GONE,
  outcomes,
  reporting,
  runWorld,
} from '#test/worlds/adapter/run-world.ts'
import type { Json, JsonObject } from '../task/task.ts'

const named = (name: string, object: string, rest: object = {}): object =>
  configMap(name, {
    manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: object, namespace: 'n' } },
    discovery: { namespace: 'n', by_name: object },
    ...rest,
  })

const PER_GENERATION = { resources: [named('a', 'a-{{ .event.id }}-{{ .event.generation }}')] }

describe('ADAPTER-63: a deletion deletes what the inventory has', () => {
  test('also what was applied under the name of an older generation', async () => {
    const world = runWorld(PER_GENERATION)
    await world.run()
    expect(world.recorded()).toEqual(['a a-c1-2'])
    world.done()
    world.reports()
    world.resource = DELETED
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toEqual(['delete a Background'])
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
    expect(world.recorded()).toEqual([])
  })

  test('and waits for it, held by a finalizer', async () => {
    const world = runWorld(PER_GENERATION)
    await world.run()
    world.held.add('a')
    world.resource = DELETED
    world.reports()
    expect((await world.run()).remaining).toEqual(['a'])
    expect(conditionsOf(world.reports()[0])).toContain('Applied True Deleting')
    world.release()
    expect((await world.run()).remaining).toEqual([])
  })

  test('and what was applied as resources that the task does not name any more, which is waited for', async () => {
    const world = runWorld({ resources: [named('a', 'a'), named('b', 'b')] })
    await world.run()
    world.change({ resources: [named('a', 'a')] })
    world.held.add('b')
    world.resource = DELETED
    world.done()
    world.reports()
    expect((await world.run()).remaining).toEqual(['b'])
    expect(conditionsOf(world.reports()[0])).toContain('Applied True Deleting')
    expect(world.done().toSorted()).toEqual(['delete a Background', 'delete b Background'])
    world.release()
    expect((await world.run()).remaining).toEqual([])
    expect(world.recorded()).toEqual([])
  })

  const foreign = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'foreign', namespace: 'n', labels: { app: 'x' } },
  }
  const selecting = (rest: object = {}) => ({
    resources: [configMap('a', { discovery: { by_selectors: { label_selector: { app: 'x' } } }, ...rest })],
  })
  const deletedAtOnce = (task: object) => {
    const world = runWorld(task)
    world.resource = DELETED
    return world
  }
  test('nothing else that its discovery finds, which is not waited for either', async () => {
    const world = deletedAtOnce(selecting())
    world.put(foreign)
    const { trace, remaining } = await world.run()
    expect([outcomes(trace.resources), remaining, world.done()]).toEqual([['a gone'], [], []])
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
  })
  test('nothing that carries the labels of another resource or of another adapter', async () => {
    const world = deletedAtOnce(selecting())
    const { labels } = appliedBefore(foreign).metadata as { readonly labels: object }
    world.put({ ...foreign, metadata: { ...foreign.metadata, labels: { ...labels, 'muster.dev/resource-id': 'c2' } } })
    world.put({ ...foreign, metadata: { ...foreign.metadata, labels: { ...labels, 'muster.dev/adapter': 'other' } } })
    await world.run()
    expect(world.done()).toEqual([])
  })
  test('with adopt all that its discovery finds', async () => {
    const world = deletedAtOnce(selecting({ adopt: true }))
    world.put(foreign)
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toEqual(['delete a Background'])
  })
  test('of what is created again only what the task has applied', async () => {
    const world = runWorld({ resources: [configMap('a', { recreate_on_change: true })] })
    world.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-c1', namespace: 'n' } })
    await world.run()
    expect(world.done()).toEqual(['apply a'])
  })
})

test('ADAPTER-67: what an older generation applied under another name goes once the new one is applied', async () => {
  const world = runWorld(PER_GENERATION)
  await world.run()
  world.done()
  world.generation = 3
  world.resource = { id: 'c1', name: 'east', generation: 3 }
  const { trace } = await world.run()
  expect(world.done()).toEqual(['apply a', 'delete a Background'])
  expect([trace.status, world.recorded()]).toEqual(['success', ['a a-c1-3']])
})

test('ADAPTER-67: nothing of it goes while the new one can’t be applied', async () => {
  const world = runWorld(PER_GENERATION)
  await world.run()
  world.done()
  world.generation = 3
  world.resource = { id: 'c1', name: 'east', generation: 3 }
  world.refused.set('a', { operation: 'apply', reason: 'ApplyFailed' })
  await world.run()
  expect(world.done()).toEqual([])
  world.refused.clear()
  world.resource = { ...DELETED, generation: 4 }
  expect((await world.run()).remaining).toEqual([])
})

describe('ADAPTER-66: a resource that the API does not have any more', () => {
  const task = { resources: [configMap('a'), configMap('b')] }
  test('everything goes, in the order of a deletion, and nothing is reported', async () => {
    const world = runWorld(task)
    await world.run()
    world.done()
    world.reports()
    world.resource = undefined
    const { trace, isReported } = await world.run()
    expect([trace.mode, trace.status, isReported]).toEqual(['delete', 'success', true])
    expect(world.done()).toEqual(['delete b Background', 'delete a Background'])
    expect([world.recorded(), world.reports()]).toEqual([[], []])
  })
  test('while a finalizer holds one, the others wait, and the deletion is known', async () => {
    const world = runWorld(task)
    await world.run()
    world.held.add('b')
    world.resource = undefined
    expect((await world.run()).remaining).toEqual(['a', 'b'])
    world.release()
    expect((await world.run()).remaining).toEqual([])
  })
  test('its report meets a 404: what the run has just applied goes', async () => {
    const world = runWorld(task, {
      responses: [{ match: { method: 'PUT', urlPattern: 'statuses$' }, responses: [GONE] }],
    })
    expect(await world.run()).toMatchObject({ isReported: true, remaining: [] })
    expect(world.done()).toEqual(['apply a', 'apply b', 'delete b Background', 'delete a Background'])
    expect(world.recorded()).toEqual([])
  })
  test('a post action’s report meets a 404: the same', async () => {
    const world = runWorld(
      { ...task, post: reporting({ ok: 'true' }) },
      { responses: [{ match: { method: 'PUT', urlPattern: 'statuses$' }, responses: [GONE] }] },
    )
    await world.run()
    expect(world.recorded()).toEqual([])
  })
  test('a 404 that no HyperFleet API has written takes nothing away', async () => {
    const lost = { match: { method: 'GET', urlPattern: '/clusters/c1$' }, responses: [{ statusCode: 404 }] }
    const world = runWorld(task)
    await world.run()
    world.done()
    world.lost = lost
    expect((await world.run()).trace.status).toBe('skipped')
    expect([world.done(), world.recorded()]).toEqual([[], ['a a-c1', 'b b-c1']])
  })
  test('with whenResourceGone: Keep everything stays, and stays known', async () => {
    const world = runWorld(task, { retention: { whenResourceGone: 'Keep' } })
    await world.run()
    world.done()
    world.resource = undefined
    await world.run()
    expect([world.done(), world.recorded()]).toEqual([[], ['a a-c1', 'b b-c1']])
  })
})

describe('ADAPTER-69: a resource whose labels the task does not select any more', () => {
  const leaving = (task: object) => runWorld(task, { selection: 'pace=slow' })
  const RELEASED = [
    'Applied False NotSelected',
    'Available False NotSelected',
    'Health True NotSelected',
    'Finalized True CleanupConfirmed',
  ]
  test('everything goes, and the adapter lets it go', async () => {
    const world = leaving({ resources: [configMap('a')] })
    await world.run()
    world.done()
    world.reports()
    world.selected = false
    expect(await world.run()).toMatchObject({ isReported: true, remaining: [], trace: { status: 'success' } })
    expect([world.done(), world.recorded()]).toEqual([['delete a Background'], []])
    const [report] = world.reports()
    expect([conditionsOf(report), report?.data]).toEqual([RELEASED, { selector: 'pace=slow' }])
    await world.run()
    expect(world.reports()).toEqual([])
  })
  test('also one of a task that only reports', async () => {
    const world = leaving({ resources: [] })
    await world.run()
    world.reports()
    world.selected = false
    await world.run()
    expect(conditionsOf(world.reports()[0])).toEqual(RELEASED)
  })
  test('while something is left it is not let go, and one that the task never worked on is left alone', async () => {
    const world = leaving({ resources: [configMap('a')] })
    world.selected = false
    await world.run()
    expect(world.reports()).toEqual([])
    world.selected = true
    await world.run()
    world.held.add('a')
    world.selected = false
    world.reports()
    expect((await world.run()).remaining).toEqual(['a'])
    expect(world.reports()).toEqual([])
  })
})

describe('ADAPTER-70: no report lets the record go while something is there', () => {
  const unmet = { preconditions: [{ name: 'open', expression: 'resource.generation == 2' }], when_deleting: 'false' }
  test('the standard report of a task that does not look, because it does not take the resource for deleted', async () => {
    const world = runWorld({ ...unmet, resources: [configMap('a')] })
    await world.run()
    world.reports()
    world.resource = DELETED
    await world.run()
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied True PreconditionNotMet',
      'Available Unknown PreconditionNotMet',
      'Health True Healthy',
      'Finalized False NotDeleting',
    ])
  })
  test('a report of the task’s own: the standard report is sent in its place', async () => {
    const conditions = "[{'type': 'Applied', 'status': 'False'}, {'type': 'Health', 'status': 'True'}]"
    const world = await deleting({ resources: [configMap('a')], post: reporting({ conditions }) })
    world.held.add('a')
    const { trace } = await world.run()
    expect(trace.failures).toMatchObject([{ phase: 'post_actions', reason: 'ReportTooEarly' }])
    expect(conditionsOf(world.reports()[0])).toContain('Applied True Deleting')
    world.release()
    expect((await world.run()).trace.status).toBe('success')
  })
})

const OTHERS: readonly JsonObject[] = [
  { id: 'c2', generation: 2 },
  { id: 'c1', kind: 'NodePool' },
  { id: 'c1', href: '/clusters/c2' },
]

test('ADAPTER-68: an event that leads to another resource than it is about is refused, and nothing is reported', async () => {
  for (const other of OTHERS) {
    const world = runWorld({ resources: [configMap('a')] })
    world.resource = other
    const { trace, isReported } = await world.run()
    expect([trace.status, trace.failures[0]?.reason, isReported]).toEqual(['failed', 'EventMismatch', true])
    expect([world.done(), world.reports()]).toEqual([[], []])
  }
})

test('ADAPTER-68: an event that leads to another place is refused, or not believed, when nothing is found there', async () => {
  const world = runWorld({ resources: [configMap('a')] })
  await world.run()
  world.resource = undefined
  world.href = '/api/hyperfleet/v1/clusters/nothing'
  expect((await world.run()).trace.failures[0]?.reason).toBe('EventMismatch')
  world.href = '/api/hyperfleet/v1/nodepools/c1'
  world.lost = {
    match: { method: 'GET', urlPattern: '/nodepools/c1$' },
    responses: [GONE],
  }
  expect((await world.run()).trace.status).toBe('skipped')
  expect(world.recorded()).toEqual(['a a-c1'])
})

test('ADAPTER-66: an answer that is no resource, with 200, is a failure: nothing is taken away', async () => {
  for (const body of ['please sign in', {}, [], { kind: 'Page' }] as Json[]) {
    const world = runWorld({ resources: [configMap('a')] }, { selection: 'region=eu' })
    await world.run()
    world.selected = false
    world.lost = { match: { method: 'GET', urlPattern: '/clusters/c1$' }, responses: [{ body }] }
    expect((await world.run()).trace.status).toBe('failed')
    expect(world.recorded()).toEqual(['a a-c1'])
  }
})

describe('ADAPTER-71: when_deleting about a captured field that a living resource does not have', () => {
  const task = (when_deleting: string) => ({
    preconditions: [
      {
        name: 'cluster',
        api_call: { url: '/clusters/{{ .event.id }}' },
        capture: [{ name: 'deletionTimestamp', field: 'deleted_time' }],
      },
    ],
    when_deleting,
    resources: [configMap('a')],
  })
  test.each(["deletionTimestamp != ''", 'deletionTimestamp != null', "deletionTimestamp > '' && true"])(
    '%s: applied while it lives, deleted afterwards',
    async (when) => {
      const world = runWorld(task(when))
      expect((await world.run()).trace).toMatchObject({ mode: 'apply', status: 'success' })
      world.resource = DELETED
      expect((await world.run()).trace).toMatchObject({ mode: 'delete', status: 'success' })
      expect(world.recorded()).toEqual([])
    },
  )
  test('that is true only because the field is absent deletes nothing, and says so', async () => {
    const world = runWorld(task("deletionTimestamp != 'never'"))
    const { trace } = await world.run()
    expect([trace.mode, trace.failures[0]?.reason, world.done()]).toEqual([undefined, 'ExpressionFailed', []])
    expect(trace.failures[0]?.message).toContain('only because deletionTimestamp has no value')
  })
})
