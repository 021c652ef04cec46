import { describe, expect, test } from 'vitest'
import {
  appliedBefore,
  conditionsOf,
  configMap,
  DELETED,
  deleting,
  outcomes,
  reporting,
  runWorld,
} from '#test/worlds/adapter/run-world.ts'

describe('while the resource lives', () => {
  test('ADAPTER-24, ADAPTER-25: everything is applied in the order of the list, labelled, and reported', async () => {
    const world = runWorld({ resources: [configMap('a'), configMap('b')] })
    const { trace, isReported } = await world.run()
    expect([trace.status, trace.mode, isReported]).toEqual(['success', 'apply', true])
    expect(world.done()).toEqual(['apply a', 'apply b'])
    const [report] = world.reports()
    expect(report).toMatchObject({ adapter: 'under-test', observed_generation: 2 })
    expect(conditionsOf(report)).toEqual([
      'Applied True Applied',
      'Available True Available',
      'Health True Healthy',
      'Finalized False NotDeleting',
    ])
  })

  test('ADAPTER-2: the resource is read once, however often the task asks for it', async () => {
    const api_call = { url: '/clusters/{{ .event.id }}' }
    const { trace } = await runWorld({
      params: [{ name: 'cluster', source: { api_call } }],
      preconditions: [
        { name: 'again', api_call, conditions: [{ field: 'again.name', operator: 'equals', value: 'east' }] },
      ],
    }).run()
    expect(trace.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /api/hyperfleet/v1/clusters/c1',
      'PUT /api/hyperfleet/v1/clusters/c1/statuses',
    ])
    expect(trace.status).toBe('success')
  })

  test('ADAPTER-11: an equal report is not sent again', async () => {
    const world = runWorld({ resources: [configMap('a')] })
    await world.run()
    expect(world.reports()).toHaveLength(1)
    await world.run()
    expect(world.reports()).toEqual([])
    world.resource = { id: 'c1', generation: 3 }
    await world.run()
    expect(world.reports()).toMatchObject([{ observed_generation: 3 }])
  })

  test('ADAPTER-6: preconditions that are not met: nothing is applied, post actions run and know why', async () => {
    const world = runWorld({
      preconditions: [{ name: 'big', conditions: [{ field: 'event.generation', operator: 'greaterThan', value: 30 }] }],
      resources: [configMap('a')],
      post: reporting({ why: 'adapter.skipReason', ok: 'adapter.executionStatus' }),
    })
    const { trace } = await world.run()
    expect([trace.status, world.done()]).toEqual(['skipped', []])
    expect(world.reports()).toEqual([
      { why: "precondition 'big' not met: event.generation greaterThan 30 (actual: 2)", ok: 'success' },
    ])
  })

  test('ADAPTER-3: an expression that has no value is an error and never false: nothing is applied, Health=False', async () => {
    const world = runWorld({
      preconditions: [{ name: 'typo', expression: 'resource.spec.replicas > 1' }],
      resources: [configMap('a')],
    })
    const { trace } = await world.run()
    expect([trace.status, world.done()]).toEqual(['failed', []])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ExpressionFailed')
  })

  test('ADAPTER-3: an expression that decides about deletion and has no value deletes nothing, and applies nothing', async () => {
    const world = runWorld({
      resources: [
        configMap('a', { lifecycle: { delete: { when: { expression: 'resource.spec.obsolete' } } } }),
        configMap('b'),
      ],
    })
    world.put({ apiVersion: 'v1', kind: 'Other' })
    const { trace } = await world.run()
    expect(outcomes(trace.resources)).toEqual(['a failed'])
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied False ExpressionFailed',
      'Available False ExpressionFailed',
      'Health False ExpressionFailed',
      'Finalized False NotDeleting',
    ])
  })

  test('ADAPTER-5: a required param without a value is reported', async () => {
    const world = runWorld({
      params: [{ name: 'zone', source: 'resource.spec.zone', required: true }],
      resources: [configMap('a')],
      post: {
        post_actions: [
          { name: 'tell', api_call: { method: 'PUT', url: '/clusters/c1/statuses', body: '{{ .zone }}' } },
        ],
      },
    })
    const { trace } = await world.run()
    expect(trace.failures).toMatchObject([{ phase: 'params', step: 'zone', reason: 'ParamMissing' }])
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied Unknown ParamMissing',
      'Available Unknown ParamMissing',
      'Health False ParamMissing',
      'Finalized False NotDeleting',
    ])
  })

  test('ADAPTER-24: an apply that is refused ends the resources, and the report says what was refused', async () => {
    const world = runWorld({ resources: [configMap('a'), configMap('b'), configMap('c')] })
    world.refused.set('b', { operation: 'apply', reason: 'Forbidden' })
    const { trace } = await world.run()
    expect(outcomes(trace.resources)).toEqual(['a applied', 'b failed'])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied False Forbidden',
      'Available False Forbidden',
      'Health False Forbidden',
      'Finalized False NotDeleting',
    ])
  })

  test('ADAPTER-12: a resource that the API does not have ends the run without a report', async () => {
    const world = runWorld({ resources: [configMap('a')] })
    world.resource = undefined
    const { trace, isReported } = await world.run()
    expect([trace.status, isReported, world.done(), world.reports()]).toEqual(['skipped', true, [], []])
  })

  test('ADAPTER-53: values from files and from the environment are in no trace', async () => {
    const world = runWorld(
      {
        params: [
          { name: 'token', source: { file: { path: '/token', trim: true } } },
          { name: 'password', source: 'env.PASSWORD' },
        ],
        resources: [configMap('a')],
      },
      { environment: { PASSWORD: 'hunter2' } },
    )
    const { trace } = await world.run()
    expect(JSON.stringify(trace)).not.toMatch(/s3cret|hunter2/)
    expect(trace.params).toEqual([
      { name: 'token', value: '(hidden)' },
      { name: 'password', value: '(hidden)' },
    ])
  })

  test('ADAPTER-29: create.when keeps an absent resource away, and never touches one that is there', async () => {
    const world = runWorld({
      resources: [
        configMap('a', { lifecycle: { create: { when: { expression: 'resource.?enabled.orValue(false)' } } } }),
      ],
    })
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a skipped'])
    world.resource = { id: 'c1', generation: 2, enabled: true }
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
    world.resource = { id: 'c1', generation: 2 }
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
  })

  test('ADAPTER-28: recreate_on_change deletes nothing that it can’t create again', async () => {
    const manifest = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a-{{ .event.id }}', namespace: 'n' },
      data: { zone: '{{ .resource.zone }}' },
    }
    const world = runWorld({ resources: [configMap('a', { recreate_on_change: true, manifest })] })
    world.resource = { id: 'c1', generation: 2, zone: 'z' }
    await world.run()
    world.resource = { id: 'c1', generation: 3 }
    world.done()
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a failed'])
    expect(world.done()).toEqual([])
  })

  test('ADAPTER-28: recreate_on_change of an object that stays although it is deleted: the old one is never taken for the new one', async () => {
    const world = runWorld({ resources: [configMap('a', { recreate_on_change: true })] })
    await world.run()
    world.deaf.add('a')
    world.resource = { id: 'c1', generation: 3 }
    world.reports()
    const { trace } = await world.run()
    expect(trace.failures).toMatchObject([{ step: 'a', reason: 'DeleteFailed' }])
    expect(conditionsOf(world.reports()[0])).toContain('Available False DeleteFailed')
  })

  test('ADAPTER-28: recreate_on_change deletes and creates for a new generation only', async () => {
    const world = runWorld({ resources: [configMap('a', { recreate_on_change: true })] })
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
    world.resource = { id: 'c1', generation: 3 }
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a recreated'])
    world.done()
    world.held.add('a')
    world.resource = { id: 'c1', generation: 4 }
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a recreating'])
    expect(world.done()).toEqual(['delete a Background'])
    world.release()
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a applied'])
  })
})

describe('while the resource is being deleted', () => {
  test('ADAPTER-34, ADAPTER-37: nothing is applied; everything is deleted in its order, in one run when it is gone at once', async () => {
    const world = await deleting({ resources: [configMap('parent'), configMap('child')] })
    const { trace, remaining } = await world.run()
    expect([trace.mode, remaining]).toEqual(['delete', []])
    expect(world.done()).toEqual(['delete child Background', 'delete parent Background'])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied False Deleted',
      'Available False Deleted',
      'Health True Healthy',
      'Finalized True CleanupConfirmed',
    ])
  })

  test('ADAPTER-45: a manifest that can’t be rendered any more delays no deletion: kind and name are enough', async () => {
    const text = [
      'apiVersion: v1',
      'kind: ConfigMap',
      'metadata:',
      '  name: "b-{{ .event.id }}"',
      '  namespace: n',
      'data:',
      '  size: "{{ .resource.spec.size }}"',
    ].join('\n')
    const metadata = { name: 'a-{{ .event.id }}', namespace: 'n' }
    const data = { zone: '{{ .resource.spec.zone }}' }
    const world = runWorld({
      resources: [
        configMap('a', { manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } }),
        configMap('b', { manifest: text }),
      ],
    })
    expect((await world.run()).trace.failures).toMatchObject([{ step: 'a', reason: 'TemplateFailed' }])
    for (const name of ['a-c1', 'b-c1'])
      world.put(appliedBefore({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'n' } }))
    world.resource = DELETED
    const { trace } = await world.run()
    expect([trace.status, trace.resources.map(({ object }) => object)]).toEqual([
      'success',
      ['ConfigMap n/a-c1', 'ConfigMap n/b-c1'],
    ])
    expect(world.done()).toEqual(['delete b Background', 'delete a Background'])
    expect(conditionsOf(world.reports().at(-1))).toContain('Finalized True CleanupConfirmed')
  })

  test('ADAPTER-11: that everything is deleted is reported for each event: a report that the API lost is repaired by the next pulse', async () => {
    const world = await deleting({ resources: [configMap('a')] })
    await world.run()
    expect(world.reports()).toHaveLength(1)
    await world.run()
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
  })

  test('ADAPTER-39: resources that are gone already are deleted', async () => {
    const world = runWorld({ resources: [configMap('a')] })
    world.resource = DELETED
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a gone'])
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
  })

  test('ADAPTER-41: an object that a finalizer holds delays what waits for it, and Applied stays True', async () => {
    const world = await deleting({ resources: [configMap('parent'), configMap('child')] })
    world.held.add('child')
    const { remaining, trace } = await world.run()
    expect([remaining, outcomes(trace.resources)]).toEqual([
      ['parent', 'child'],
      ['parent waiting', 'child leaving'],
    ])
    const [report] = world.reports()
    expect(conditionsOf(report)).toEqual([
      'Applied True Deleting',
      'Available False Deleting',
      'Health True Healthy',
      'Finalized False CleanupInProgress',
    ])
    expect(JSON.stringify(report)).toContain('is held by example.com/hold')
    // ADAPTER-85
    expect(report?.data).toEqual({
      remaining: [
        { kind: 'ConfigMap', namespace: 'n', name: 'parent-c1' },
        { kind: 'ConfigMap', namespace: 'n', name: 'child-c1', finalizers: ['example.com/hold'] },
      ],
    })
    world.done()
    expect(outcomes((await world.run()).trace.resources)).toEqual(['parent waiting', 'child leaving'])
    expect(world.done()).toEqual([])
    world.release()
    expect((await world.run()).remaining).toEqual([])
  })

  test('ADAPTER-40: a DELETE that is refused does not stop the siblings, and Health=False', async () => {
    const world = await deleting({ resources: [configMap('a', { delete_options: { after: [] } }), configMap('b')] })
    world.refused.set('a', { operation: 'delete', reason: 'Forbidden' })
    const { remaining } = await world.run()
    expect(remaining).toEqual(['a'])
    expect(world.done()).toEqual(['delete b Background'])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied True Deleting',
      'Available False Deleting',
      'Health False Forbidden',
      'Finalized False AdapterUnhealthy',
    ])
  })

  test('ADAPTER-42: a resource that can’t be observed counts as present', async () => {
    const world = await deleting({ resources: [configMap('a', { delete_options: { after: [] } }), configMap('b')] })
    world.refused.set('a', { operation: 'find', reason: 'Unreachable' })
    expect((await world.run()).remaining).toEqual(['a'])
    expect(conditionsOf(world.reports()[0])).toContain('Health False Unreachable')
  })

  test('ADAPTER-38: all matches of a selector go, of whatever generation', async () => {
    const labelled = configMap('a', { discovery: { by_selectors: { label_selector: { app: 'x' } } } })
    const world = runWorld({ resources: [labelled] })
    for (const name of ['one', 'two', 'three'])
      world.put(
        appliedBefore({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace: 'n', labels: { app: 'x' } },
        }),
      )
    world.resource = DELETED
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toHaveLength(3)
  })

  test('ADAPTER-43: an orphaning deletion is not waited for', async () => {
    const world = await deleting({
      resources: [
        configMap('owner', { delete_options: { propagation_policy: 'Orphan', after: [] } }),
        configMap('other', { delete_options: { after: ['owner'] } }),
      ],
    })
    world.held.add('owner')
    const { remaining } = await world.run()
    expect(remaining).toEqual([])
    expect(world.done()).toEqual(['delete owner Orphan', 'delete other Background'])
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
  })

  test('ADAPTER-44: preconditions that are not met delete nothing; objects that are left block, and none left do not', async () => {
    const task = {
      preconditions: [{ name: 'open', expression: 'resource.name != "east"' }],
      resources: [configMap('a')],
    }
    const world = runWorld(task)
    world.resource = DELETED
    await world.run()
    expect(conditionsOf(world.reports()[0])).toContain('Finalized True CleanupConfirmed')
    world.put(appliedBefore({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a-c1', namespace: 'n' } }))
    await world.run()
    expect(world.done()).toEqual([])
    expect(conditionsOf(world.reports()[0])).toEqual([
      'Applied True Deleting',
      'Available False Deleting',
      'Health False PreconditionNotMet',
      'Finalized False AdapterUnhealthy',
    ])
  })

  test.each([
    ['when_deleting, which reads what a precondition captured', { when_deleting: 'phase == "Terminating"' }, 'delete'],
    ['when_deleting, whatever the deleted_time', { when_deleting: 'phase == "Other"' }, 'apply'],
    ['a deleted_time', {}, 'delete'],
  ] as const)('ADAPTER-33: %s decides whether the resource is being deleted', async (_, task, mode) => {
    const field = { name: 'phase', field: 'status.phase' }
    const world = runWorld({
      preconditions: [{ name: 'cluster', api_call: { url: '/clusters/c1' }, capture: [field] }],
      resources: [configMap('a')],
      ...task,
    })
    world.resource = { ...DELETED, status: { phase: 'Terminating' } }
    expect((await world.run()).trace.mode).toBe(mode)
  })

  test('ADAPTER-4: a deleted_time of null is no deletion', async () => {
    const world = runWorld({ resources: [configMap('a')] })
    world.resource = { ...DELETED, deleted_time: null }
    expect((await world.run()).trace.mode).toBe('apply')
  })

  test('ADAPTER-35: the conditions of lifecycle decide the order; one that is false applies nothing', async () => {
    const gate = (expression: string) => ({
      lifecycle: {
        create: { when: { expression: '!resource.?deleted_time.hasValue()' } },
        delete: { when: { expression: `resource.?deleted_time.hasValue() && ${expression}` } },
      },
    })
    const world = await deleting({
      resources: [configMap('parent', gate('!resources.?child.hasValue()')), configMap('child', gate('true'))],
    })
    world.held.add('child')
    expect(outcomes((await world.run()).trace.resources)).toEqual(['parent waiting', 'child leaving'])
    expect(world.done()).toEqual(['delete child Background'])
    world.release()
    const { trace } = await world.run()
    expect(outcomes(trace.resources)).toEqual(['parent deleted', 'child gone'])
    expect(trace.skipReason).toBeUndefined()
  })

  test('ADAPTER-40: a condition without a value holds its own resource and no other', async () => {
    const world = await deleting({
      resources: [
        configMap('a', {
          lifecycle: { delete: { when: { expression: 'has(resource.deleted_time) && resource.spec.x' } } },
        }),
        configMap('b', { lifecycle: { delete: { when: { expression: 'has(resource.deleted_time)' } } } }),
      ],
    })
    expect(outcomes((await world.run()).trace.resources)).toEqual(['a failed', 'b deleted'])
  })

  test('payloads have a form of their own while deleting', async () => {
    const world = await deleting({
      resources: [configMap('a')],
      post: {
        payloads: [{ name: 'said', build: { deleting: false }, when_deleting: { deleting: true } }],
        post_actions: [
          { name: 'tell', api_call: { method: 'PUT', url: '/clusters/c1/statuses', body: '{{ .said }}' } },
        ],
      },
    })
    await world.run()
    expect(world.reports()).toEqual([{ deleting: true }])
  })
})

describe('post actions', () => {
  const tell = (rest: object = {}) => ({
    name: 'tell',
    api_call: { method: 'PUT', url: '/clusters/c1/statuses', body: '{{ .said }}', retry_attempts: 2 },
    ...rest,
  })

  test('ADAPTER-9: an action whose payload was not built is skipped', async () => {
    const world = runWorld({
      post: {
        payloads: [{ name: 'said', when: { expression: 'false' }, build: {} }],
        post_actions: [tell()],
      },
    })
    const { trace } = await world.run()
    expect(trace.actions).toMatchObject([{ status: 'skipped', message: 'its payload said was not built' }])
    expect(world.reports()).toEqual([])
  })

  test('ADAPTER-8: a payload that can’t be built: no action runs, the standard report says so', async () => {
    const world = runWorld({
      resources: [configMap('a')],
      post: {
        payloads: [{ name: 'said', build: { x: { expression: 'resource.spec.x' } } }],
        post_actions: [tell()],
      },
    })
    const { trace } = await world.run()
    expect(trace.actions).toEqual([])
    expect(conditionsOf(world.reports()[0])).toContain('Health False ExpressionFailed')
  })

  test('ADAPTER-10: an API that does not answer: tried again, then the event has to come again', async () => {
    const world = runWorld(
      { post: { payloads: [{ name: 'said', build: {} }], post_actions: [tell()] } },
      { responses: [{ match: { method: 'PUT', urlPattern: 'statuses$' }, responses: [{ statusCode: 503 }] }] },
    )
    const { trace, isReported } = await world.run()
    expect([trace.status, isReported]).toEqual(['failed', false])
    expect(trace.actions[0]?.message).toContain('was answered with 503 (2 attempts)')
  })

  test('ADAPTER-10: a resource that is gone meanwhile needs no report', async () => {
    const world = runWorld(
      { post: { payloads: [{ name: 'said', build: {} }], post_actions: [tell()] } },
      { responses: [{ match: { method: 'PUT', urlPattern: 'statuses$' }, responses: [{ statusCode: 404 }] }] },
    )
    const { trace, isReported } = await world.run()
    expect([trace.status, isReported]).toEqual(['success', true])
  })
})
