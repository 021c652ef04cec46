import { describe, expect, test } from 'vitest'
import { bearer, type TestIssuer, testIssuer } from '../hyperfleet-api/issuer.ts'
import { type Json, onBothDatabases, serve, type TestApi } from '../hyperfleet-api/support.ts'

/** Adapters and Sentinels hold the same role: what parts them are the names that they are bound to (API-80). */
const mappings = [
  { subject: 'dns', roles: ['adapter'], adapters: ['dns', 'dns-*'], consumers: ['dns'] },
  { subject: 'mallory', roles: ['adapter'], adapters: ['mallory'], consumers: ['mallory'] },
  { subject: 'sentinel', roles: ['adapter'] },
  { subject: 'ed', roles: ['editor'] },
  { group: 'operators', roles: ['admin'] },
] as const

const reportOf = (adapter: string, finalized = 'False') => ({
  adapter,
  observed_generation: 1,
  conditions: [
    ...['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
    { type: 'Finalized', status: finalized },
  ],
})

const GROUP = { resourceType: 'clusters' }

/** A request to every operation that acts for an adapter or a consumer group, by its id in the OpenAPI document. */
const bodyOf = (operationId: string, name: string): object | undefined => {
  if (/^(put|post)Status/.test(operationId)) return reportOf(name, 'True')
  return ({ putConsumer: GROUP, claimEvents: {}, extendClaim: { visibility: '30s' } } as Record<string, object>)[
    operationId
  ]
}

interface Attack {
  readonly operationId: string
  readonly method: string
  /** With `{NAME}` where a name goes that is not in the body. */
  readonly path: string
}

/** Every operation whose path or body names an adapter or a consumer group, read from what the API says of itself. */
const attacksOn = async (api: TestApi): Promise<readonly Attack[]> => {
  const { paths } = (await api.call('GET', '/openapi')).body
  return Object.entries<Record<string, Json>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, { requestBody }]) =>
          /consumers\/\{name\}|\{adapter\}/.test(path) ||
          JSON.stringify(requestBody ?? {}).includes('/schemas/AdapterReport'),
      )
      .map(([method, { operationId }]) => ({
        operationId,
        method: method.toUpperCase(),
        path: path
          .replace('/api/hyperfleet/v1', '')
          .replace('consumers/{name}', 'consumers/{NAME}')
          .replace('{adapter}', '{NAME}')
          .replace(/\{[a-z_]+\}/g, 'none'),
      })),
  )
}

onBothDatabases((fresh) => {
  const world = async () => {
    const issuer: TestIssuer = await testIssuer({ mappings })
    const entities = [{ kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] }]
    const api = await serve({ ...(await fresh()), issuers: [issuer.settings], entities })
    const as = async (sub: string) => {
      const headers = bearer(await issuer.token(sub === 'root' ? { sub, groups: ['operators'] } : { sub }))
      return (method: string, path: string, body?: object) => api.call(method, path, body, headers)
    }
    const [dns, mallory, ed] = [await as('dns'), await as('mallory'), await as('ed')]
    const { id } = (await ed('POST', '/clusters', { name: 'one', spec: {} })).body
    const phase = async () => (await ed('GET', `/clusters/${id}`)).body?.status.phase
    return { api, as, dns, mallory, ed, id, phase }
  }

  // API-80
  test('attack: an adapter’s identity reports another adapter’s success, and lets its clean-up be skipped', async () => {
    const { dns, mallory, ed, id, phase } = await world()
    const forged = await mallory('PUT', `/clusters/${id}/statuses`, reportOf('dns'))
    expect([forged.status, forged.body.code]).toEqual([403, 'HYPERFLEET-AUZ-002'])
    expect(forged.body.detail).toBe(
      "you may not act for the adapter 'dns': an administrator of this API binds it to you with --auth-adapters=mallory=dns, or with adapters beside your roles in role_mappings",
    )
    expect(await phase()).toBe('NotReady')
    await dns('PUT', `/clusters/${id}/statuses`, reportOf('dns'))
    expect(await phase()).toBe('Ready')
    await ed('DELETE', `/clusters/${id}`)
    const finalized = { ...reportOf('dns', 'True'), observed_generation: 2 }
    expect((await mallory('POST', `/resources/${id}/statuses`, finalized)).status).toBe(403)
    expect(await phase()).toBe('Deleting')
    expect((await dns('POST', `/resources/${id}/statuses`, finalized)).status).toBe(201)
    expect(await phase()).toBeUndefined()
  })

  test('attack: an adapter’s identity takes, acknowledges, gives up and deletes another’s events', async () => {
    const { as, dns, mallory, id } = await world()
    const sentinel = await as('sentinel')
    const group = '/events/consumers/dns'
    expect((await dns('PUT', group, GROUP)).status).toBe(201)
    await sentinel('POST', '/events', { resourceType: 'clusters', resourceId: id, reason: 'New' })
    expect((await mallory('POST', `${group}/claims`, {})).status).toBe(403)
    const { body } = await dns('POST', `${group}/claims`, {})
    const claim = `${group}/claims/${body.items[0].receipt}`
    for (const [method, path, sent] of [
      ['DELETE', claim],
      ['PATCH', claim, { visibility: '0s' }],
      ['POST', `${claim}/dead-letter`],
      ['PUT', group, { ...GROUP, labels: 'never=true' }],
      ['DELETE', group],
    ] as const)
      expect([method, path, (await mallory(method, path, sent)).status]).toEqual([method, path, 403])
    expect((await dns('DELETE', claim)).status).toBe(204)
  })

  test('attack: no operation that names an adapter or a group is open to an identity that is not bound to it', async () => {
    const { api, as, dns, mallory } = await world()
    const [sentinel, root] = [await as('sentinel'), await as('root')]
    const attacks = await attacksOn(api)
    expect(attacks.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['putStatusAnyKind', 'postStatusCluster', 'retireAdapterCluster', 'replayDeadLetter']),
    )
    for (const { operationId, method, path } of attacks) {
      const to = async (call: typeof dns, name: string) => {
        const answer = await call(method, path.replace('{NAME}', name), bodyOf(operationId, name))
        return [operationId, answer.status === 403, answer.body?.code === 'HYPERFLEET-AUZ-002']
      }
      const isForAdmins = operationId.startsWith('retireAdapter')
      for (const call of [mallory, sentinel]) expect(await to(call, 'dns')).toEqual([operationId, true, !isForAdmins])
      expect(await to(dns, 'dns')).toEqual([operationId, isForAdmins, false])
      expect(await to(root, 'dns')).toEqual([operationId, false, false])
    }
  })
})

describe('names', () => {
  test('are bound whole, or by how they begin', async () => {
    const issuer = await testIssuer({ mappings })
    const api = await serve({ issuers: [issuer.settings] })
    const headers = bearer(await issuer.token({ sub: 'dns' }))
    const may = async (name: string) =>
      (await api.call('PUT', '/clusters/none/statuses', reportOf(name), headers)).status !== 403
    const names = ['dns', 'dns-eu', 'dns-', 'dn', 'dnsx', 'DNS', 'x-dns', 'dns*', '*', 'mallory']
    expect(await Promise.all(names.map(async (name) => [name, await may(name)]))).toEqual(
      names.map((name) => [name, ['dns', 'dns-eu', 'dns-'].includes(name)]),
    )
  })

  test('of adapters bind no groups, and without authentication every name is free', async () => {
    const issuer = await testIssuer({ mappings })
    const secured = await serve({ issuers: [issuer.settings] })
    const headers = bearer(await issuer.token({ sub: 'dns' }))
    expect((await secured.call('PUT', '/events/consumers/dns-eu', GROUP, headers)).status).toBe(403)
    const open = await serve()
    expect((await open.call('PUT', '/events/consumers/dns-eu', GROUP)).status).toBe(201)
    const { id } = await open.cluster('one')
    expect((await open.call('PUT', `/clusters/${id}/statuses`, reportOf('any'))).status).toBe(201)
  })
})
