/** Callers of several issuers of tokens: told apart in what they write and in the log, and each with the rights of its own issuer alone. */
import { expect, test } from 'vitest'
import { findPostgres } from '#hack/postgres/find.ts'
import { recorder } from '#test/harness/index.ts'
import { bearer, testIssuer } from './issuer.ts'
import { freshPostgres, serve, temporaryData } from './support.ts'

// API-155
test('a token of a further issuer is its caller’s with the issuer’s name before, in created_by; of a sole one it stands alone', async () => {
  const [first, second, third] = [await testIssuer(), await testIssuer(), await testIssuer()]
  const alone = await serve({ issuers: [first.settings] })
  const api = await serve({
    issuers: [first.settings, { ...second.settings, issuer: first.name, shortName: 'chicago' }, third.settings],
  })
  const claims = { sub: 'system:serviceaccount:a:b', roles: ['editor'] }
  const authorAt = async (server: typeof api, token: string) => {
    const draft = { name: `one-${token.slice(-8)}`.toLowerCase().replaceAll(/[^a-z0-9]/g, 'x'), spec: {} }
    const { body } = await server.call('POST', '/clusters', draft, bearer(token))
    return [body.created_by, body.updated_by]
  }
  const twice = (name: string) => [name, name]
  expect(await authorAt(alone, await first.token(claims))).toEqual(twice(claims.sub))
  expect(await authorAt(api, await first.token(claims))).toEqual(twice(claims.sub))
  expect(await authorAt(api, await second.token({ ...claims, iss: first.name }, { kid: 'key-1' }))).toEqual(
    twice(`chicago/${claims.sub}`),
  )
  expect(await authorAt(api, await third.token(claims))).toEqual(
    twice(`${third.name.replace('https://', '')}/${claims.sub}`),
  )
})

// API-155
test('attack: a caller takes the name by which another issuer’s caller is told, by its claim, its sub and a gateway’s header', async () => {
  const header = 'X-User'
  const [first, second] = [await testIssuer({ identityHeader: header }), await testIssuer()]
  const api = await serve({ issuers: [first.settings, { ...second.settings, shortName: 'chicago' }] })
  const list = async (claims: object, user?: string) => {
    const headers = {
      ...bearer(await first.token({ roles: ['editor'], ...claims })),
      ...(user && { [header]: user }),
    }
    const { status, body } = await api.call('GET', '/clusters', undefined, headers)
    return status === 200 ? status : [status, body.detail]
  }
  const refused = [401, 'the caller’s name begins as those of another issuer’s callers: chicago/ann']
  expect(await list({ sub: 'chicago/ann' })).toEqual(refused)
  expect(await list({ sub: 'ann', email: 'chicago/ann', email_verified: true })).toEqual(refused)
  expect(await list({ sub: 'chicago/ann', email: 'ann@example.com', email_verified: true })).toEqual(refused)
  expect(await list({ sub: 'ann' }, 'chicago/ann')).toEqual(refused)
  expect(await list({ sub: 'chicago-ann' }, 'boston/ann')).toBe(200)
})

// API-157
test.each([
  ['SQLite', temporaryData, true],
  ['PostgreSQL', freshPostgres, findPostgres() !== undefined],
])(
  'an issuer that is listed before the former one has not its plain names: the API refuses to start and says what to write, on %s',
  async (_, fresh, isThere) => {
    if (!isThere) return
    const data = await fresh()
    const [first, second] = [await testIssuer(), await testIssuer()]
    const author = async (issuers: (typeof first.settings)[], token: Promise<string>) => {
      const lines: string[] = []
      const api = await serve({ ...data, issuers, log: recorder(lines) })
      const name = `one-${Math.random().toString(36).slice(2)}`
      const { body } = await api.call('POST', '/clusters', { name, spec: {} }, bearer(await token))
      await api.stop()
      return [body.created_by, lines.filter((line) => line.includes('in the place of another')).length]
    }
    const claims = { sub: 'ann', roles: ['editor'] }
    const [ofFirst, ofSecond] = [() => first.token(claims), () => second.token(claims)]
    const named = { ...second.settings, shortName: 'second' }
    expect(await author([first.settings], ofFirst())).toEqual(['ann', 0])
    await expect(author([second.settings, first.settings], ofSecond())).rejects.toMatchObject({
      option: 'issuers',
      message:
        `the callers of ${first.name} were written into created_by with nothing before their names, and those of ${second.name} ` +
        `would be taken for them: write a name beside its issuer_url, in the file of --config, or list ${first.name} before it`,
    })
    await expect(author([second.settings, { ...first.settings, shortName: 'first' }], ofSecond())).rejects.toThrow()
    expect(await author([named, first.settings], ofSecond())).toEqual(['second/ann', 0])
    expect(await author([named, first.settings], ofFirst())).toEqual(['ann', 0])
    // Its URL is another, or it is gone: no caller of it can come any more.
    expect(await author([second.settings], ofSecond())).toEqual(['ann', 1])
    expect(await author([second.settings], ofSecond())).toEqual(['ann', 0])
  },
)

// API-156
test('attack: an account has the adapters, groups and roles that another issuer’s account of its name is bound to', async () => {
  const sub = 'system:serviceaccount:hyperfleet-system:dns'
  const bound = [{ subject: sub, roles: ['adapter', 'editor'] as const, adapters: ['dns'], consumers: ['dns'] }]
  const tasks = [{ accounts: 'hyperfleet-system', tasks: 'hyperfleet-system' }]
  const tenants = {
    systemHeader: 'X-System',
    dimensions: [{ header: 'X-Org', key: 'org', required: true }],
    gateways: [`boston/${sub}`, `chicago/${sub}`],
  }
  const [boston, chicago] = [
    await testIssuer({ mappings: bound, taskAccounts: tasks, shortName: 'boston' }),
    // As one that knows how the other one's account is told would write it.
    await testIssuer({
      mappings: [{ subject: `boston/${sub}`, roles: ['admin'] }],
      defaultRoles: ['reader'],
      shortName: 'chicago',
    }),
  ]
  const api = await serve({ issuers: [boston.settings, { ...chicago.settings, issuer: boston.name }], tenants })
  const system = { 'X-System': 'true' }
  const own = { ...bearer(await boston.token({ sub })), ...system }
  const theirs = bearer(await chicago.token({ sub, iss: boston.name }))
  const tenant = { 'X-Org': 'a' }
  const made = await api.call(
    'POST',
    '/clusters',
    { name: 'one', spec: {} },
    { ...own, ...tenant, 'X-System': 'false' },
  )
  expect([made.status, made.body.created_by]).toEqual([201, `boston/${sub}`])
  const report = {
    adapter: 'dns',
    observed_generation: 1,
    conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True' })),
  }
  const tries = (headers: Record<string, string>) =>
    Promise.all([
      api.call('PUT', `/clusters/${made.body.id}/statuses`, report, headers),
      api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' }, headers),
      api.call('GET', '/clusters', undefined, headers),
    ])
  expect((await tries({ ...theirs, ...system })).map(({ status }) => status)).toEqual([403, 403, 403])
  expect((await api.call('POST', '/clusters', { name: 'two', spec: {} }, { ...theirs, ...tenant })).status).toBe(403)
  expect((await tries(own)).map(({ status }) => status < 300)).toEqual([true, true, true])
})
