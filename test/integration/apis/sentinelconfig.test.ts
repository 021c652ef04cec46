import { beforeAll, describe, expect, test } from 'vitest'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { refusalOf } from './refusal.ts'

let cluster: ControlPlane
let namespace: string

beforeAll(async () => {
  cluster = await sharedControlPlane()
  namespace = await cluster.namespace('sentinelconfig')
})

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string; readonly categories?: readonly string[] }
    readonly versions: readonly { readonly additionalPrinterColumns?: readonly { readonly name: string }[] }[]
  }
}

const MINIMAL = { resourceType: 'clusters', hyperfleetAPI: { url: 'http://hyperfleet-api:8080' } }

const create = (spec: object, name = 'sample'): Promise<SentinelConfig> =>
  cluster.rest('POST', pathOf(SentinelConfig, { namespace }), {
    apiVersion: apiVersionOf(SentinelConfig),
    kind: SentinelConfig.kind,
    metadata: { name },
    spec,
  })

const refusal = (spec: object): Promise<string> => refusalOf(create(spec))

test('the defaults of the original CRD are filled in', async () => {
  const { spec } = await create(MINIMAL, 'defaults')
  expect(spec).toEqual({
    resourceType: 'clusters',
    backoffNotReady: '10s',
    backoffReady: '30m',
    pollInterval: '5s',
    hyperfleetAPI: { url: 'http://hyperfleet-api:8080', timeout: '10s' },
  })
})

test('a selector with every operator, and every way to write a duration, is accepted', async () => {
  const { spec } = await create(
    {
      ...MINIMAL,
      backoffNotReady: '1.5s',
      backoffReady: '1h30m',
      pollInterval: '500ms',
      shardSelector: {
        matchLabels: { region: 'us-east', 'example.com/tier': '' },
        matchExpressions: [
          { key: 'region', operator: 'In', values: ['us-east', 'us-west'] },
          { key: 'env', operator: 'NotIn', values: ['dev'] },
          { key: 'customer', operator: 'Exists' },
          { key: 'retired', operator: 'DoesNotExist', values: [] },
        ],
      },
      autoShard: { shards: 3, index: 2 },
    },
    'everything',
  )
  expect(spec.shardSelector?.matchExpressions).toHaveLength(4)
})

describe('a spec that can’t be meant is refused, and the message says what to write instead', () => {
  test('nothing at all', async () => {
    expect(await refusal({})).toMatchInlineSnapshot(`"spec.resourceType: Required value"`)
  })

  test('durations', async () => {
    expect(
      await refusal({ ...MINIMAL, backoffNotReady: '0s', backoffReady: 'soon', pollInterval: '-5s' }),
    ).toMatchInlineSnapshot(`
      "spec.backoffNotReady: Invalid value: "0s": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m
      spec.backoffReady: Invalid value: "soon": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m
      spec.pollInterval: Invalid value: "-5s": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m"
    `)
    expect(
      await refusal({ ...MINIMAL, backoffReady: '169h', pollInterval: '999999h999999h99999h', backoffNotReady: '10' }),
    ).toMatchInlineSnapshot(`
      "spec.backoffNotReady: Invalid value: "10": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m
      spec.backoffReady: Invalid value: "169h": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m
      spec.pollInterval: Invalid value: "999999h999999h99999h": must be a duration from 100ms to 168h, written as 500ms, 10s, 30m or 1h30m"
    `)
  })

  test('the resource type', async () => {
    expect(await refusal({ ...MINIMAL, resourceType: '' })).toMatchInlineSnapshot(
      `"spec.resourceType: Invalid value: "": must be the plural under which the API serves the type, in lower case: clusters, nodepools, …"`,
    )
    expect(await refusal({ ...MINIMAL, resourceType: 'clusters/../admin' })).toMatchInlineSnapshot(
      `"spec.resourceType: Invalid value: "clusters/../admin": must be the plural under which the API serves the type, in lower case: clusters, nodepools, …"`,
    )
  })

  test('the URL', async () => {
    const withUrl = (url: string) => refusal({ ...MINIMAL, hyperfleetAPI: { url } })
    expect(await withUrl('hyperfleet-api:8080')).toMatchInlineSnapshot(
      `"spec.hyperfleetAPI.url: Invalid value: "hyperfleet-api:8080": must be a URL that begins with http:// or https:// and a host, such as http://hyperfleet-api:8080"`,
    )
    expect(await withUrl('ftp://hyperfleet-api')).toMatchInlineSnapshot(
      `"spec.hyperfleetAPI.url: Invalid value: "ftp://hyperfleet-api": must be a URL that begins with http:// or https:// and a host, such as http://hyperfleet-api:8080"`,
    )
    expect(await withUrl('http://user:password@hyperfleet-api')).toMatchInlineSnapshot(
      `"spec.hyperfleetAPI.url: Invalid value: "http://user:password@hyperfleet-api": must not carry credentials: specs are readable by many; give the manager a token file instead"`,
    )
    expect(await withUrl('http://hyperfleet-api?size=100')).toMatchInlineSnapshot(
      `"spec.hyperfleetAPI.url: Invalid value: "http://hyperfleet-api?size=100": must be a base URL: leave out everything from ? or # on"`,
    )
  })

  test('selector operators', async () => {
    expect(
      await refusal({ ...MINIMAL, shardSelector: { matchExpressions: [{ key: 'region', operator: 'in' }] } }),
    ).toMatchInlineSnapshot(
      `"spec.shardSelector.matchExpressions[0].operator: Unsupported value: "in": supported values: "In", "NotIn", "Exists", "DoesNotExist""`,
    )
    expect(
      await refusal({
        ...MINIMAL,
        shardSelector: {
          matchExpressions: [
            { key: 'region', operator: 'In' },
            { key: 'region', operator: 'NotIn', values: [] },
            { key: 'region', operator: 'Exists', values: ['us-east'] },
          ],
        },
      }),
    ).toMatchInlineSnapshot(`
      "spec.shardSelector.matchExpressions[0]: Invalid value: values must hold at least one value when operator is In or NotIn
      spec.shardSelector.matchExpressions[1]: Invalid value: values must hold at least one value when operator is In or NotIn
      spec.shardSelector.matchExpressions[2]: Invalid value: values must be left out when operator is Exists or DoesNotExist"
    `)
  })

  test('label keys and values', async () => {
    expect(
      await refusal({ ...MINIMAL, shardSelector: { matchLabels: { '-region': 'us-east', env: 'prod or dev' } } }),
    ).toMatchInlineSnapshot(`
      "spec.shardSelector.matchLabels: Invalid value: "-region" must be a label key: letters, digits, - _ and . (63 at most), with an optional DNS prefix before a slash
      spec.shardSelector.matchLabels: Invalid value: "prod or dev" must be a label value: letters, digits, - _ and . (63 at most), beginning and ending with a letter or digit"
    `)
    expect(
      await refusal({
        ...MINIMAL,
        shardSelector: { matchExpressions: [{ key: 'my region', operator: 'In', values: ['us-east', 'us west'] }] },
      }),
    ).toMatchInlineSnapshot(`
      "spec.shardSelector.matchExpressions[0].key: Invalid value: "my region": must be a label key: letters, digits, - _ and . (63 at most), with an optional DNS prefix before a slash
      spec.shardSelector.matchExpressions[0].values: Invalid value: "us west" must be a label value: letters, digits, - _ and . (63 at most), beginning and ending with a letter or digit"
    `)
    expect(
      await refusal({ ...MINIMAL, shardSelector: { matchLabels: { env: 'x'.repeat(64) } } }),
    ).toMatchInlineSnapshot(`"spec.shardSelector.matchLabels.env: Too long: may not be more than 63 bytes"`)
  })

  test('automatic sharding', async () => {
    expect(await refusal({ ...MINIMAL, autoShard: { shards: 2, index: 2 } })).toMatchInlineSnapshot(
      `"spec.autoShard: Invalid value: index must be below shards: the first shard has index 0"`,
    )
    expect(await refusal({ ...MINIMAL, autoShard: { shards: 2, index: 0, replicas: 2 } })).toMatchInlineSnapshot(
      `"spec.autoShard: Invalid value: must hold either shards and index, or replicas alone"`,
    )
    expect(await refusal({ ...MINIMAL, autoShard: { index: 0 } })).toMatchInlineSnapshot(
      `"spec.autoShard: Invalid value: must hold either shards and index, or replicas alone"`,
    )
  })
})

test('a misspelled field is refused by kubectl', async () => {
  await expect(
    cluster.rest('POST', `${pathOf(SentinelConfig, { namespace })}?fieldValidation=Strict`, {
      apiVersion: apiVersionOf(SentinelConfig),
      kind: SentinelConfig.kind,
      metadata: { name: 'misspelled' },
      spec: { ...MINIMAL, backofReady: '1h' },
    }),
  ).rejects.toThrow('unknown field \\"spec.backofReady\\"')
})

describe('kubectl', () => {
  test('get shows the shard and how it is doing', async () => {
    await create(MINIMAL, 'shown')
    await cluster.rest('PATCH', pathOf(SentinelConfig, { namespace, name: 'shown', subresource: 'status' }), {
      status: {
        observedGeneration: 1,
        shard: 'region=us-east',
        resources: 12,
        notReady: 2,
        source: 'Watch',
        conditions: [
          { type: 'Ready', status: 'True', reason: 'Pulsing', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
        ],
      },
    })
    const table = await cluster.kubectl('get', 'sentinelconfigs', 'shown', `--namespace=${namespace}`)
    expect(table.replace(/\d+s( *)$/m, 'AGE')).toMatchInlineSnapshot(`
      "NAME    TYPE       SHARD            RESOURCES   NOTREADY   SOURCE   READY   AGE
      shown   clusters   region=us-east   12          2          Watch    True    AGE
      "
    `)
  })

  test('get -o wide says why an object is not Ready, of every kind that has conditions', async () => {
    await create({ ...MINIMAL }, 'refused')
    await cluster.rest('PATCH', pathOf(SentinelConfig, { namespace, name: 'refused', subresource: 'status' }), {
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'APIRefused',
            message: '401: give a token',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      },
    })
    const get = ['get', 'sentinelconfigs', 'refused', `--namespace=${namespace}`]
    expect(await cluster.kubectl(...get)).not.toContain('APIRefused')
    expect(await cluster.kubectl(...get, '--output=wide')).toMatch(/ APIRefused +401: give a token\s*$/)
    const all = await cluster.rest<{ items: readonly Definition[] }>('GET', DEFINITIONS)
    const ours = all.items.filter(({ spec }) => spec.names.categories?.includes('muster'))
    const silent = ours.filter(({ spec: { versions } }) =>
      versions.some(({ additionalPrinterColumns: columns }) => !columns?.some(({ name }) => name === 'Reason')),
    )
    expect(silent.map(({ spec }) => spec.names.kind)).toEqual(['AdapterInventory'])
    expect(ours.length).toBe(9)
  })

  test('get muster lists all kinds of ours', async () => {
    await create(MINIMAL, 'listed')
    expect(await cluster.kubectl('get', 'muster', '--output=name', `--namespace=${namespace}`)).toContain(
      'sentinelconfig.hyperfleet.redhat.com/listed',
    )
  })

  test('get filters by resource type', async () => {
    await create({ ...MINIMAL, resourceType: 'nodepools' }, 'nodepools')
    expect(
      await cluster.kubectl(
        'get',
        'sentinelconfigs',
        '--output=name',
        '--field-selector=spec.resourceType=nodepools',
        `--namespace=${namespace}`,
      ),
    ).toBe('sentinelconfig.hyperfleet.redhat.com/nodepools\n')
  })

  test('explain shows the fields with what they mean', async () => {
    const text = await cluster.kubectl('explain', 'sentinelconfig', '--recursive')
    expect(text).toContain('hyperfleetAPI')
    expect(await cluster.kubectl('explain', 'sentinelconfig.spec.backoffReady')).toMatchInlineSnapshot(`
      "GROUP:      hyperfleet.redhat.com
      KIND:       SentinelConfig
      VERSION:    v1alpha1

      FIELD: backoffReady <string>


      DESCRIPTION:
          Backoff interval for resources in Ready state
          

      "
    `)
  })
})
