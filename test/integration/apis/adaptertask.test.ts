import { beforeAll, describe, expect, test } from 'vitest'
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { refusalOf } from './refusal.ts'

let cluster: ControlPlane
let namespace: string

beforeAll(async () => {
  cluster = await sharedControlPlane()
  namespace = await cluster.namespace('adaptertask')
})

const BASE = {
  adapter: { name: 'cl-namespace' },
  resourceType: 'clusters',
  hyperfleetAPI: { url: 'http://hyperfleet-api:8000' },
}
const CONFIGMAP = {
  name: 'config',
  manifest: {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c-{{ .clusterId }}', namespace: 'default' },
    data: { region: '{{ .region }}' },
  },
  discovery: { by_name: 'c-{{ .clusterId }}', namespace: 'default' },
}
const SMALL = {
  ...BASE,
  params: [{ name: 'clusterId', source: 'event.id', required: true }],
  resources: [CONFIGMAP],
}

const create = (spec: object, name = 'sample'): Promise<AdapterTask> =>
  cluster.rest('POST', `${pathOf(AdapterTask, { namespace })}?fieldValidation=Strict`, {
    apiVersion: apiVersionOf(AdapterTask),
    kind: AdapterTask.kind,
    metadata: { name },
    spec,
  })

const refusal = (spec: object): Promise<string> => refusalOf(create(spec))

test('the defaults are filled in, and what is free is kept to the letter', async () => {
  const { spec } = await create(SMALL, 'defaults')
  expect(spec).toEqual({
    ...SMALL,
    hyperfleetAPI: { ...SMALL.hyperfleetAPI, timeout: '10s' },
    events: { transport: 'api', maxConcurrent: 16, visibility: '30s' },
    serviceAccountName: 'default',
    suspend: false,
  })
})

test('every word of the language is accepted', async () => {
  const call = {
    method: 'PUT',
    url: '/clusters/{{ .clusterId }}/statuses',
    timeout: '10s',
    retry_attempts: 3,
    retry_backoff: 'linear',
    base_delay: '100ms',
    max_delay: '1s',
    body: '{{ .report }}',
    headers: [{ name: 'X-Trace', value: '{{ .clusterId }}' }],
  }
  const { spec } = await create(
    {
      ...SMALL,
      selector: { matchLabels: { region: 'us-east' } },
      events: { transport: 'nats', url: 'nats://nats:4222', consumer: 'cl-namespace', maxConcurrent: 4 },
      serviceAccountName: 'cl-namespace',
      params: [
        { name: 'clusterId', source: 'event.id', type: 'string', required: true },
        { name: 'cluster', source: { api_call: { method: 'GET', url: '/clusters/{{ .clusterId }}' } } },
        { name: 'deleting', source: { expression: 'cluster.?deleted_time.hasValue()' } },
        { name: 'token', source: { file: { path: '/token', trim: true } }, default: '' },
      ],
      preconditions: [
        {
          name: 'fetched',
          api_call: { url: '/clusters/x' },
          capture: [
            { name: 'phase', field: 'status.phase', default: 'none' },
            { name: 'size', expression: '1 + 1' },
          ],
          conditions: [{ field: 'phase', operator: 'in', values: ['Ready', 'NotReady'] }],
          log: { message: 'looked', level: 'info' },
        },
        { name: 'open', expression: 'true' },
      ],
      when_deleting: 'deleting',
      resources: [
        {
          ...CONFIGMAP,
          transport: { client: 'kubernetes' },
          recreate_on_change: true,
          lifecycle: {
            create: { when: { expression: '!deleting' } },
            delete: { propagationPolicy: 'Foreground', when: { expression: 'deleting' } },
          },
          delete_options: { propagation_policy: 'Orphan', after: ['work'] },
        },
        {
          name: 'work',
          transport: { client: 'maestro', maestro: { target_cluster: 'c1' } },
          manifest: 'apiVersion: v1\nkind: ConfigMap\n',
          discovery: { namespace: '*', by_selectors: { label_selector: { 'example.com/id': '{{ .clusterId }}' } } },
          nested_discoveries: [{ name: 'inner', discovery: { by_name: 'x' } }],
        },
      ],
      post: {
        payloads: [
          {
            name: 'report',
            when: { expression: 'true' },
            build: { adapter: '{{ .adapter.name }}', generation: { expression: 'event.generation', default: 1 } },
            when_deleting: { adapter: '{{ .adapter.name }}' },
          },
        ],
        post_actions: [{ name: 'put', when: { expression: 'true' }, log: { message: 'x' }, api_call: call }],
      },
    },
    'everything',
  )
  expect(spec.post?.payloads?.[0]?.build).toEqual({
    adapter: '{{ .adapter.name }}',
    generation: { expression: 'event.generation', default: 1 },
  })
})

describe('a spec that can’t be meant is refused, and the message says what to write instead', () => {
  test('neither a task nor a reference, or both', async () => {
    expect(await refusal(BASE)).toMatchInlineSnapshot(
      `"spec: Invalid value: must hold either taskRef or the task itself: params, preconditions, when_deleting, resources, post"`,
    )
    expect(await refusal({ ...SMALL, taskRef: { name: 'file' } })).toMatchInlineSnapshot(
      `"spec: Invalid value: must hold either taskRef or the task itself: params, preconditions, when_deleting, resources, post"`,
    )
  })

  test('a word that does not exist', async () => {
    expect(await refusal({ ...SMALL, precondition: [] })).toMatchInlineSnapshot(
      `"AdapterTask in version "v1alpha1" cannot be handled as a AdapterTask: strict decoding error: unknown field "spec.precondition""`,
    )
    expect(await refusal({ ...SMALL, resources: [{ ...CONFIGMAP, recreateOnChange: true }] })).toMatchInlineSnapshot(
      `"AdapterTask in version "v1alpha1" cannot be handled as a AdapterTask: strict decoding error: unknown field "spec.resources[0].recreateOnChange""`,
    )
  })

  test('one name twice', async () => {
    expect(await refusal({ ...SMALL, resources: [CONFIGMAP, CONFIGMAP] })).toMatchInlineSnapshot(
      `"spec.resources[1]: Duplicate value: {"name":"config"}"`,
    )
  })

  test('names that every task has already, or that are words of CEL', async () => {
    expect(await refusal({ ...SMALL, params: [{ name: 'event', source: 'event.id' }] })).toMatchInlineSnapshot(
      `"spec.params[0].name: Invalid value: "event": must not be one of the names that are there already, such as event, resource, params, adapter, config, env, or a word of CEL: write another one"`,
    )
    const payload = { name: 'in', build: {} }
    expect(await refusal({ ...SMALL, post: { payloads: [payload] } })).toContain('spec.post.payloads[0].name')
    // Resources are known as resources.NAME, beside nothing else.
    await create({ ...SMALL, resources: [{ ...CONFIGMAP, name: 'event' }] }, 'resource-event')
  })

  test('names that expressions can’t use', async () => {
    expect(
      await refusal({
        ...BASE,
        params: [{ name: 'cluster-id', source: 'event.id' }],
        resources: [{ ...CONFIGMAP, name: '1st' }],
      }),
    ).toMatchInlineSnapshot(`
      "spec.params[0].name: Invalid value: "cluster-id": must be a name that expressions can use: letters, digits and _, such as clusterId
      spec.resources[0].name: Invalid value: "1st": must be a name that expressions can use: letters, digits and _, such as clusterId"
    `)
  })

  test('choices: discovery, preconditions, captures', async () => {
    expect(
      await refusal({
        ...BASE,
        preconditions: [{ name: 'nothing' }, { name: 'both', api_call: { url: '/x' }, capture: [{ name: 'n' }] }],
        resources: [{ ...CONFIGMAP, discovery: { namespace: 'x' } }],
      }),
    ).toMatchInlineSnapshot(`
      "spec.preconditions[0]: Invalid value: must have at least one of api_call, conditions and expression
      spec.preconditions[1].capture[0]: Invalid value: must have either field or expression
      spec.resources[0].discovery: Invalid value: must have either by_name or by_selectors"
    `)
  })

  test('enumerations and durations', async () => {
    expect(
      await refusal({
        ...BASE,
        preconditions: [
          { name: 'p', api_call: { method: 'FETCH', url: '/x', timeout: 'soon' } },
          { name: 'q', conditions: [{ field: 'a', operator: 'is', value: 1 }] },
        ],
        resources: [{ ...CONFIGMAP, delete_options: { propagation_policy: 'background' } }],
      }),
    ).toMatchInlineSnapshot(`
      "spec.preconditions[0].api_call.method: Unsupported value: "FETCH": supported values: "GET", "POST", "PUT", "PATCH", "DELETE"
      spec.preconditions[1].conditions[0].operator: Unsupported value: "is": supported values: "equals", "notEquals", "in", "notIn", "contains", "greaterThan", "greaterThanOrEqual", "lessThan", "lessThanOrEqual", "exists", "notExists"
      spec.resources[0].delete_options.propagation_policy: Unsupported value: "background": supported values: "Background", "Foreground", "Orphan""
    `)
  })

  test('who it is, where its events come from and where its token is', async () => {
    expect(
      await refusal({
        ...SMALL,
        adapter: { name: 'CL_Namespace' },
        events: { transport: 'nats', consumer: '-x', maxConcurrent: 0 },
        hyperfleetAPI: { url: 'http://api', tokenPath: '../token' },
      }),
    ).toMatchInlineSnapshot(`
      "spec.adapter.name: Invalid value: "CL_Namespace": must be a name in lower case letters, digits and inner hyphens, such as cl-namespace
      spec.events.consumer: Invalid value: "-x": must be lower case letters, digits and inner hyphens, such as cl-namespace
      spec.events.maxConcurrent: Invalid value: 0: spec.events.maxConcurrent in body should be greater than or equal to 1
      spec.events: Invalid value: url must name the server when transport is nats
      spec.hyperfleetAPI.tokenPath: Invalid value: "../token": must be an absolute path without .., such as /var/run/secrets/hyperfleet/token"
    `)
    expect(await refusal({ ...SMALL, events: { url: 'nats://user:pw@nats' } })).toMatchInlineSnapshot(`
      "spec.events.url: Invalid value: "nats://user:pw@nats": must begin with nats:// or tls:// and carry no credentials, such as nats://nats:4222
      spec.events: Invalid value: url is for the transport nats: leave it out"
    `)
  })
})

test('kubectl get shows who works on what', async () => {
  const [columns] = (await cluster.kubectl('get', 'at', `--namespace=${namespace}`)).split('\n')
  expect(columns?.trim().split(/ +/)).toEqual([
    'NAME',
    'ADAPTER',
    'TYPE',
    'PROCESSED',
    'FAILING',
    'DELETING',
    'READY',
    'AGE',
  ])
})
