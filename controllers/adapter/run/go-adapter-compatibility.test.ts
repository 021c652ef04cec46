/**
 * What users of the Go adapter (openshift-hyperfleet/hyperfleet-adapter) build on, each by its rule. Delivery from a real stream is in
 * test/integration/adapter/nats.test.ts.
 */
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import {
  conditionsOf,
  configMap,
  DELETED,
  deleting,
  GONE,
  outcomes,
  reporting,
  runWorld,
} from '#test/worlds/adapter/run-world.ts'
import type { ResponseRule } from '../dry-run/canned-responses.ts'
import { NotAnEventError, parseEventText } from '../events/reconcile-event.ts'
import { countRun, createMetrics } from '../metrics.ts'
import type { JsonObject } from '../task/task.ts'

const LIVE = { id: 'c1', name: 'east', generation: 2 }

const answering = (method: string, urlPattern: string, ...responses: ResponseRule['responses']): ResponseRule => ({
  match: { method, urlPattern },
  responses,
})

test('ADAPTER-1: params, then a precondition that asks the API, then create, discover, and a report', async () => {
  const world = runWorld({
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    preconditions: [
      {
        name: 'status',
        api_call: { url: '/clusters/{{ .clusterId }}' },
        capture: [{ name: 'clusterName', field: 'name' }],
        conditions: [{ field: 'clusterName', operator: 'equals', value: 'east' }],
      },
    ],
    resources: [configMap('a')],
    post: reporting({ found: 'resources.a.metadata.name', of: 'clusterName' }),
  })
  const { trace } = await world.run()
  expect([trace.status, trace.params, outcomes(trace.resources)]).toEqual([
    'success',
    [{ name: 'clusterId', value: 'c1' }],
    ['a applied'],
  ])
  expect(world.reports()).toEqual([{ found: 'a-c1', of: 'east' }])
})

test('ADAPTER-6: a precondition that is not met skips the resources; post actions run and know why', async () => {
  const world = runWorld({
    preconditions: [{ name: 'p', conditions: [{ field: 'event.generation', operator: 'greaterThan', value: 30 }] }],
    resources: [configMap('a')],
    post: reporting({ skipped: 'adapter.resourcesSkipped', why: 'adapter.skipReason' }),
  })
  expect((await world.run()).trace.status).toBe('skipped')
  expect(world.done()).toEqual([])
  expect(world.reports()).toEqual([
    { skipped: true, why: "precondition 'p' not met: event.generation greaterThan 30 (actual: 2)" },
  ])
})

test('ADAPTER-7: a precondition whose API fails: failed, reported, and failed it stays', async () => {
  const world = runWorld(
    {
      preconditions: [{ name: 'p', api_call: { url: '/other', retry_attempts: 1 } }],
      resources: [configMap('a')],
      post: reporting({ status: 'adapter.executionStatus', skipped: 'adapter.resourcesSkipped' }),
    },
    { responses: [answering('GET', '/other$', { statusCode: 500 })] },
  )
  expect((await world.run()).trace.status).toBe('failed')
  expect([world.done(), world.reports()]).toEqual([[], [{ status: 'failed', skipped: true }]])
})

describe('ADAPTER-7: a precondition that meets a 404', () => {
  const task = {
    preconditions: [{ name: 'p', api_call: { url: '/clusters/gone' } }],
    resources: [configMap('a')],
    post: reporting({ status: 'adapter.executionStatus' }),
  }
  test('for the resource of the event: it is gone, nothing is done and nothing reported', async () => {
    const own = { ...task, preconditions: [{ name: 'p', api_call: { url: '/clusters/{{ .event.id }}' } }] }
    const world = runWorld(own)
    world.resource = undefined
    expect((await world.run()).trace.status).toBe('skipped')
    expect([world.done(), world.reports()]).toEqual([[], []])
  })
  test('for anything else is a failure, and is reported', async () => {
    const world = runWorld(task, { responses: [answering('GET', '/clusters/gone$', GONE)] })
    expect((await world.run()).trace.status).toBe('failed')
    expect([world.done(), world.reports()]).toEqual([[], [{ status: 'failed' }]])
  })
  test('is a mistake where the API has no such route at all', async () => {
    const body = { code: 'HYPERFLEET-NTF-000' }
    const world = runWorld(task, { responses: [answering('GET', '/clusters/gone$', { statusCode: 404, body })] })
    expect((await world.run()).trace.status).toBe('failed')
    expect(world.reports()).toEqual([{ status: 'failed' }])
  })
})

describe('ADAPTER-10: a post action', () => {
  const put = (...responses: ResponseRule['responses']) =>
    runWorld({ post: reporting({ ok: 'true' }) }, { responses: [answering('PUT', 'statuses$', ...responses)] }).run()
  test('that meets a 404 ends the run without a failure', async () => {
    expect(await put({ statusCode: 404 })).toMatchObject({ trace: { status: 'success' }, isReported: true })
  })
  test('that meets 5xx fails after its tries', async () => {
    const { trace, isReported } = await put({ statusCode: 503 })
    expect([trace.status, isReported]).toEqual(['failed', false])
    expect(trace.actions[0]?.message).toMatch(/\(\d attempts\)/)
  })
})

test('ADAPTER-5: a required param without a value fails the run; the API gets to know why', async () => {
  const world = runWorld({ params: [{ name: 'p', source: 'event.nope', required: true }], resources: [configMap('a')] })
  expect((await world.run()).trace.status).toBe('failed')
  expect(world.done()).toEqual([])
  expect(conditionsOf(world.reports()[0])).toContain('Health False ParamMissing')
})

test.each([
  'no JSON',
  '{}',
  '{"specversion":"1.0","id":"1","type":"t"}',
  '{"specversion":"1.0","id":"1","type":"t","data":{}}',
])('ADAPTER-17: what is no event is refused at once, and never given back to come again: %s', (text) => {
  expect(() => parseEventText(text)).toThrow(NotAnEventError)
})

test('ADAPTER-18: whatever a run comes to is acknowledged; it comes again only when the API did not get the report', async () => {
  const failing = runWorld({ preconditions: [{ name: 'p', expression: 'resource.nope' }], resources: [] })
  expect(await failing.run()).toMatchObject({ trace: { status: 'failed' }, isReported: true })
  const deaf = { responses: [answering('PUT', 'statuses$', { statusCode: 503 })] }
  expect(await runWorld({ resources: [configMap('a')] }, deaf).run()).toMatchObject({ isReported: false })
})

test('ADAPTER-28: a new generation updates, and recreate_on_change deletes and creates; an equal one makes nothing anew', async () => {
  const world = runWorld({ resources: [configMap('updated'), configMap('anew', { recreate_on_change: true })] })
  await world.run()
  world.done()
  expect(outcomes((await world.run()).trace.resources)).toEqual(['updated applied', 'anew applied'])
  expect(world.done()).toEqual(['apply updated', 'apply anew'])
  world.resource = { ...LIVE, generation: 3 }
  expect(outcomes((await world.run()).trace.resources)).toEqual(['updated applied', 'anew recreated'])
  expect(world.done()).toEqual(['apply updated', 'delete anew Background', 'apply anew'])
})

test('ADAPTER-24: an object that another manager created in between is no error', async () => {
  const world = runWorld({ resources: [configMap('a')] })
  world.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-c1', namespace: 'n' } })
  expect(await world.run()).toMatchObject({ trace: { status: 'success' } })
})

test('ADAPTER-30: of several matches the one of the highest generation is used, then the first name', async () => {
  const labels = { app: 'x' }
  const world = runWorld({
    resources: [
      configMap('a', {
        discovery: { by_selectors: { label_selector: labels } },
        lifecycle: { create: { when: { expression: 'false' } }, delete: { when: { expression: 'false' } } },
      }),
      configMap('b', { lifecycle: { create: { when: { expression: 'false' } } } }),
    ],
    preconditions: [],
    post: reporting({ found: 'dig(resources, "a.metadata.name")' }),
  })
  for (const [name, generation] of [
    ['low', '2'],
    ['zoe', '10'],
    ['amy', '10'],
  ] as const)
    world.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'n', labels, annotations: { 'hyperfleet.io/generation': generation } },
    })
  world.refused.set('a', { operation: 'apply', reason: 'ApplyFailed' })
  await world.run()
  expect(world.reports()).toEqual([{ found: 'amy' }])
})

test('ADAPTER-30: what another one puts beside the task’s own object, with its labels and a higher generation, is not read', async () => {
  const labels = { app: 'x' }
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'own', namespace: 'n', labels } }
  const world = runWorld({
    resources: [configMap('a', { manifest, discovery: { by_selectors: { label_selector: labels } } })],
    post: reporting({ found: 'dig(resources, "a.metadata.name")' }),
  })
  world.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'forged', namespace: 'n', labels, annotations: { 'hyperfleet.io/generation': '99' } },
  })
  await world.run()
  expect(world.reports()).toEqual([{ found: 'own' }])
})

test('ADAPTER-16: expressions can read which phase and step failed, and why', async () => {
  const world = runWorld({
    resources: [configMap('a')],
    post: reporting({
      phase: 'adapter.executionError.phase',
      step: 'adapter.executionError.step',
      message: 'adapter.executionError.message',
      reason: 'adapter.errorReason',
    }),
  })
  world.refused.set('a', { operation: 'apply', reason: 'ApplyFailed' })
  await world.run()
  expect(world.reports()).toEqual([{ phase: 'resources', step: 'a', message: 'a was refused', reason: 'ApplyFailed' }])
})

describe('ADAPTER-29: create.when', () => {
  const created = (expression: string) =>
    runWorld({ resources: [configMap('a', { lifecycle: { create: { when: { expression } } } })] })
  test('true creates, false does not', async () => {
    expect(outcomes((await created('true').run()).trace.resources)).toEqual(['a applied'])
    expect(outcomes((await created('false').run()).trace.resources)).toEqual(['a skipped'])
  })
  test('is not asked of what is there', async () => {
    const world = created('false')
    world.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-c1', namespace: 'n' } })
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
  })
  test('that has no value fails', async () => {
    expect(await created('resource.nope').run()).toMatchObject({ trace: { status: 'failed' } })
  })
  test('that is no expression is refused when the task is loaded', () => {
    expect(() => created('((')).toThrow('resources[0].lifecycle.create.when')
  })
})

describe('ADAPTER-29: delete.when', () => {
  const gated = (expression: string) => ({
    resources: [configMap('a', { lifecycle: { delete: { when: { expression } } } })],
  })
  test('true deletes at once', async () => {
    expect(outcomes((await (await deleting(gated('has(resource.deleted_time)'))).run()).trace.resources)).toEqual([
      'a deleted',
    ])
  })
  test('what a finalizer holds stays, and is not asked to go again', async () => {
    const world = await deleting(gated('has(resource.deleted_time)'))
    world.held.add('a')
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a leaving'])
    world.done()
    await world.run()
    expect(world.done()).toEqual([])
  })
  test('what is not there is done', async () => {
    const world = runWorld(gated('has(resource.deleted_time)'))
    world.resource = DELETED
    expect(await world.run()).toMatchObject({ trace: { status: 'success' }, remaining: [] })
  })
  test('false applies while the resource lives; while it is being deleted it waits', async () => {
    const world = await deleting(gated('false'))
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a waiting'])
    expect(world.done()).toEqual([])
    world.resource = LIVE
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
  })
})

test('ADAPTER-37: resources.?X.hasValue() orders: in the same run what goes at once, in a later one what is held', async () => {
  const gate = (expression: string) => ({ lifecycle: { delete: { when: { expression } } } })
  const task = {
    resources: [
      configMap('parent', gate('has(resource.deleted_time) && !resources.?child.hasValue()')),
      configMap('child', gate('has(resource.deleted_time)')),
    ],
  }
  expect((await (await deleting(task)).run()).remaining).toEqual([])
  const world = await deleting(task)
  world.held.add('child')
  expect(outcomes((await world.run()).trace.resources)).toEqual(['parent waiting', 'child leaving'])
  world.release()
  expect(outcomes((await world.run()).trace.resources)).toEqual(['parent deleted', 'child gone'])
})

test('ADAPTER-40: neither a refused deletion nor a condition without a value stops the others; all are reported', async () => {
  const world = await deleting({
    resources: [
      configMap('a', { lifecycle: { delete: { when: { expression: 'has(resource.deleted_time)' } } } }),
      configMap('b', {
        lifecycle: { delete: { when: { expression: 'has(resource.deleted_time) && resource.nope' } } },
      }),
      configMap('c', { lifecycle: { delete: { when: { expression: 'has(resource.deleted_time)' } } } }),
    ],
    post: reporting({ errors: 'adapter.resourceErrors' }),
  })
  world.refused.set('a', { operation: 'delete', reason: 'DeleteFailed' })
  expect(outcomes((await world.run()).trace.resources)).toEqual(['a failed', 'b failed', 'c deleted'])
  const [report] = world.reports() as unknown as readonly { errors: Record<string, string> }[]
  expect(Object.keys(report?.errors ?? {})).toEqual(['a', 'b'])
})

test('ADAPTER-43: the propagation policy is handed on, Background when nothing is said', async () => {
  const world = await deleting({
    resources: [
      configMap('said', {
        lifecycle: { delete: { propagationPolicy: 'Foreground', when: { expression: 'has(resource.deleted_time)' } } },
      }),
      configMap('unsaid', { lifecycle: { delete: { when: { expression: 'has(resource.deleted_time)' } } } }),
    ],
  })
  await world.run()
  expect(world.done().toSorted()).toEqual(['delete said Foreground', 'delete unsaid Background'])
})

test('ADAPTER-39: what is deleted is no resource of expressions any more', async () => {
  const world = await deleting({ resources: [configMap('a')], post: reporting({ there: 'resources.?a.hasValue()' }) })
  await world.run()
  expect(world.reports()).toEqual([{ there: false }])
})

test('ADAPTER-14: captures by field, by JSONPath and by expression, defaults, and the whole answer under its name', async () => {
  const body = {
    spec: { size: 3 },
    list: [
      { t: 'x', v: 1 },
      { t: 'x', v: 2 },
    ],
  }
  const world = runWorld(
    {
      preconditions: [
        {
          name: 'answer',
          api_call: { url: '/other' },
          capture: [
            { name: 'size', field: 'spec.size' },
            { name: 'all', field: '{.list[?(@.t=="x")].v}' },
            { name: 'twice', expression: 'spec.size * 2' },
            { name: 'missing', field: 'spec.nope', default: 'none' },
          ],
        },
      ],
      post: reporting({ size: 'size', all: 'all', twice: 'twice', missing: 'missing', whole: 'answer.spec.size' }),
    },
    { responses: [answering('GET', '/other$', { body })] },
  )
  await world.run()
  expect(world.reports()).toEqual([{ size: 3, all: [1, 2], twice: 6, missing: 'none', whole: 3 }])
})

test.each([
  'conditionStatus(x.v, "Ready")',
  'conditionAge(x.v, "Ready")',
  'stableFor(x.v, "Ready", 1)',
  'statusFeedbackValue(x.v, "a")',
  'dig(x.v, "a.b.0")',
  'toJson(x.v)',
])('ADAPTER-15: %s bears whatever an API gives', async (expression) => {
  for (const v of ['null', '[]', '[null, 1, "a"]', '{}', '{"type": 7}', '"text"', '1.5', '[{"type": "Ready"}]']) {
    const world = runWorld({
      params: [{ name: 'x', source: { expression: `{"v": ${v}}` } }],
      post: reporting({ it: expression }),
    })
    expect((await world.run()).trace.status, `${expression} of ${v}`).toBe('success')
  }
})

test('ADAPTER-9: what is built and sent depends on its own when; nothing is sent when a payload can’t be built', async () => {
  const post = (payload: string, action: string, value = 'true') => ({
    payloads: [{ name: 'said', when: { expression: payload }, build: { it: { expression: value } } }],
    post_actions: [
      {
        name: 'tell',
        when: { expression: action },
        api_call: { method: 'PUT', url: '/clusters/c1/statuses', body: '{{ .said }}' },
      },
    ],
  })
  const sent = async (task: object) => {
    const world = runWorld({ post: task })
    const { trace } = await world.run()
    return [trace.actions.map(({ status }) => status), world.reports().length]
  }
  expect(await sent(post('true', 'true'))).toEqual([['done'], 1])
  expect(await sent(post('false', 'true'))).toEqual([['skipped'], 0])
  expect(await sent(post('true', 'false'))).toEqual([['skipped'], 0])
  // The standard report tells that it failed.
  expect(await sent(post('true', 'true', 'resource.nope'))).toEqual([[], 1])
})

test('ADAPTER-32: objects inside a ManifestWork, with what its status says of them', async () => {
  const inner = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'inner', namespace: 'x' } }
  const work = { apiVersion: 'work.open-cluster-management.io/v1', kind: 'ManifestWork' }
  const status = {
    resourceStatus: {
      manifests: [
        {
          resourceMeta: { kind: 'ConfigMap', name: 'inner', namespace: 'x' },
          statusFeedback: { values: [{ name: 'phase', fieldValue: { string: 'Active' } }] },
          conditions: [{ type: 'Available', status: 'True' }],
        },
      ],
    },
  }
  const manifest = {
    ...work,
    metadata: { name: 'w', namespace: 'n' },
    spec: { workload: { manifests: [inner] } },
    status,
  }
  const world = runWorld({
    resources: [
      {
        name: 'work',
        manifest,
        discovery: { namespace: 'n', by_name: 'w' },
        nested_discoveries: [
          { name: 'inner', discovery: { namespace: 'x', by_name: 'inner' } },
          { name: 'nobody', discovery: { by_name: 'nobody' } },
        ],
      },
    ],
    post: reporting({
      phase: 'statusFeedbackValue(resources.inner.statusFeedback, "phase")',
      fit: 'conditionStatus(resources.inner.conditions, "Available")',
      nobody: 'resources.?nobody.hasValue()',
    }),
  })
  await world.run()
  expect(world.reports()).toEqual([{ phase: 'Active', fit: 'True', nobody: false }])
})

describe('ADAPTER-13: a request', () => {
  const asked = (...statuses: readonly number[]) =>
    runWorld(
      { params: [{ name: 'x', source: { api_call: { url: '/other', retry_attempts: 3 } }, required: true }] },
      { responses: [answering('GET', '/other$', ...statuses.map((statusCode) => ({ statusCode })))] },
    ).run()
  const attempts = async (...statuses: readonly number[]) =>
    (await asked(...statuses)).trace.requests.find(({ url }) => url.endsWith('/other'))?.attempts

  test.each([500, 503, 408, 429])('that meets %i is tried again', async (status) => {
    expect(await attempts(status, 200)).toBe(2)
  })
  test.each([400, 401, 403, 409, 422])('that meets %i is not', async (status) => {
    expect(await attempts(status, 200)).toBe(1)
  })
  test('that never gets through says how often it was tried', async () => {
    const { trace } = await asked(503)
    expect(trace.failures[0]?.message).toContain('(3 attempts)')
  })
})

test('ADAPTER-48: each outcome is counted as what it was', async () => {
  const metrics = createMetrics(new Registry())
  const runs: readonly JsonObject[] = [
    {},
    { preconditions: [{ name: 'p', expression: 'false' }] },
    { preconditions: [{ name: 'p', expression: 'resource.nope' }] },
  ]
  for (const task of runs) countRun(metrics, 'a', (await runWorld(task).run()).trace)
  const { values } = await metrics.eventsProcessed.get()
  expect(values.map(({ labels, value }) => `${labels.status} ${value}`)).toEqual(['success 1', 'skipped 1', 'failed 1'])
  expect((await metrics.errors.get()).values).toMatchObject([{ labels: { error_type: 'preconditions' }, value: 1 }])
})

describe('ADAPTER-138: a task that takes the name of a Go adapter while a resource is being deleted', () => {
  const deletedMeanwhile = (rest: object) => {
    const world = runWorld({ resources: [configMap('a', rest)] })
    world.resource = DELETED
    // As the Go adapter applied it: nothing of it is in an inventory.
    world.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-c1', namespace: 'n' } })
    return world
  }

  test('leaves what that one made, and says that all is gone', async () => {
    const world = deletedMeanwhile({})
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
  })

  test('deletes it where its resource says adopt', async () => {
    const world = deletedMeanwhile({ adopt: true })
    await world.run()
    expect(world.done()).toEqual(['delete a Background'])
  })

  test('takes what it applies over as long as the resource lives, and deletes that without adopt', async () => {
    const world = deletedMeanwhile({})
    world.resource = LIVE
    await world.run()
    expect(world.done()).toEqual(['apply a'])
    world.resource = DELETED
    await world.run()
    expect(world.done()).toEqual(['delete a Background'])
  })
})
