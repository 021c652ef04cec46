import { readFile, writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { base64url, SignJWT } from 'jose'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { permits, ROLES, type Role } from '#services/hyperfleet-api/auth/role.ts'
import { repetitions } from '#test/harness/deep.ts'
import { manualClock, sharedControlPlane } from '#test/harness/index.ts'
import { AUDIENCE, BEGINNING, bearer, type TestIssuer, testIssuer } from './issuer.ts'
import { type Json, serve } from './support.ts'

const SECONDS = 1_000

const unsigned = (payload: object): string =>
  `${base64url.encode(JSON.stringify({ alg: 'none' }))}.${base64url.encode(JSON.stringify(payload))}.`

describe('a token', () => {
  test('that is not good is 401, with the code that says how', async () => {
    const issuer = await testIssuer()
    const stranger = await testIssuer()
    const api = await serve({ issuers: [issuer.settings] })
    const good = { iss: issuer.name, aud: AUDIENCE, sub: 'a', exp: BEGINNING + 60, roles: ['admin'] }
    const forged = await new SignJWT(good)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(await readFile(issuer.file))
    const cases: [string, string | undefined, string, string][] = [
      ['nothing', undefined, '001', 'missing authorization header'],
      ['another scheme', 'Basic YTpi', '002', 'the authorization header must be: Bearer <token>, with a JWT'],
      ['two tokens', 'Bearer a b', '002', 'the authorization header must be: Bearer <token>, with a JWT'],
      ['garbage', 'Bearer garbage', '002', 'invalid JWT token'],
      ['half a token', 'Bearer a.b', '002', 'invalid JWT token'],
      ['no signature', `Bearer ${unsigned(good)}`, '002', 'invalid JWT token: its algorithm is not allowed'],
      ['the public key as secret', `Bearer ${forged}`, '002', 'invalid JWT token: its algorithm is not allowed'],
      [
        'an unknown issuer',
        `Bearer ${await stranger.token()}`,
        '002',
        'invalid JWT token: its issuer is not one that this API takes',
      ],
      ['another’s signature', `Bearer ${await stranger.token({ iss: issuer.name })}`, '002', 'invalid JWT token'],
      [
        'another audience',
        `Bearer ${await issuer.token({ aud: 'other' })}`,
        '002',
        'invalid JWT token: its claim aud is not what this API takes',
      ],
      ['no end', `Bearer ${await issuer.token({ exp: undefined })}`, '002', 'invalid JWT token: it has no claim exp'],
      [
        'a later beginning',
        `Bearer ${await issuer.token({ nbf: BEGINNING + 31 })}`,
        '002',
        'invalid JWT token: its claim nbf is not what this API takes',
      ],
      ['an end 31 s ago', `Bearer ${await issuer.token({ exp: BEGINNING - 31 })}`, '003', 'JWT token has expired'],
    ]
    for (const [what, authorization, code, detail] of cases) {
      const answer = await api.call('GET', '/clusters', undefined, authorization === undefined ? {} : { authorization })
      const { status, headers, body } = answer
      expect([what, status, body.code, body.detail]).toEqual([what, 401, `HYPERFLEET-AUT-${code}`, detail])
      expect(headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('is good for 30 s more than it says, since clocks differ', async () => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings] })
    const token = await issuer.token({ exp: BEGINNING - 29, nbf: BEGINNING + 29, roles: ['reader'] })
    expect((await api.call('GET', '/clusters', undefined, bearer(token))).status).toBe(200)
  })

  test('of any configured issuer is taken, and each issuer’s names are its own', async () => {
    const first = await testIssuer({ mappings: [{ subject: 'boss', roles: ['admin'] }] })
    const second = await testIssuer()
    const api = await serve({ issuers: [first.settings, second.settings] })
    const list = async (token: string) => (await api.call('GET', '/clusters', undefined, bearer(token))).status
    expect(await list(await first.token({ sub: 'boss' }))).toBe(200)
    expect(await list(await second.token({ sub: 'boss' }))).toBe(403)
    expect(await list(await second.token({ roles: ['reader'] }))).toBe(200)
  })

  // API-136
  test('of issuers with one name is told apart by its key', async () => {
    const [first, second] = [await testIssuer({ defaultRoles: ['editor'] }), await testIssuer()]
    const namesake = {
      ...second.settings,
      issuer: first.name,
      shortName: 'second',
      defaultRoles: ['reader'] as const,
    }
    const create = async (api: Awaited<ReturnType<typeof serve>>, token: string) =>
      (await api.call('POST', '/clusters', { name: `one-${Math.random()}`.replace('.', ''), spec: {} }, bearer(token)))
        .status
    const api = await serve({ issuers: [first.settings, namesake] })
    const kid = { kid: 'key-1' }
    expect(await create(api, await first.token({}, kid))).toBe(201)
    expect(await create(api, await second.token({ iss: first.name }, kid))).toBe(403)
    expect(await create(api, await (await testIssuer()).token({ iss: first.name }, kid))).toBe(401)
    const expired = await second.token({ iss: first.name, exp: BEGINNING - 31 })
    expect((await api.call('GET', '/clusters', undefined, bearer(expired))).body.detail).toBe('JWT token has expired')
    // With a key that both have it can't be told whose roles the caller has.
    const copy = { ...namesake, keys: { file: `${first.file}.copy` } }
    await writeFile(copy.keys.file, await readFile(first.file))
    const ambiguous = await serve({ issuers: [first.settings, copy] })
    const refused = await ambiguous.call('GET', '/clusters', undefined, bearer(await first.token()))
    expect([refused.status, refused.body.detail]).toEqual([
      401,
      'invalid JWT token: several issuers of its name have the key that signed it',
    ])
    await expect(serve({ issuers: [first.settings, { ...namesake, keys: first.settings.keys }] })).rejects.toThrow(
      /two issuers are .* with keys of one place/,
    )
  })

  // API-136
  test('of an issuer whose keys can’t be had keeps none of its namesake out', async () => {
    const [first, second] = [await testIssuer(), await testIssuer({ defaultRoles: ['reader'] })]
    const away = { ...first.settings, keys: { url: 'http://127.0.0.1:9/jwks' } }
    const api = await serve({ issuers: [away, { ...second.settings, issuer: first.name, shortName: 'second' }] })
    const list = async (token: string) => (await api.call('GET', '/clusters', undefined, bearer(token))).status
    expect(await list(await second.token({ iss: first.name }))).toBe(200)
    expect(await list(await first.token())).toBe(503)
  })

  // API-154
  test('attack: another issuer of its name shows its key at a URL, to keep it out or to have it as its own; it is of the issuer whose key stands in a file', async () => {
    const [pinned, thief] = [await testIssuer({ defaultRoles: ['reader'] }), await testIssuer()]
    const copied = await pinned.serve()
    onTestFinished(copied.stop)
    const byUrl = {
      ...thief.settings,
      issuer: pinned.name,
      shortName: 'thief',
      keys: { url: copied.url },
      defaultRoles: ['admin'] as const,
    }
    for (const issuers of [
      [byUrl, pinned.settings],
      [pinned.settings, byUrl],
    ]) {
      const api = await serve({ issuers })
      const token = bearer(await pinned.token())
      expect((await api.call('GET', '/clusters', undefined, token)).status).toBe(200)
      expect((await api.call('POST', '/clusters', { name: 'one', spec: {} }, token)).status).toBe(403)
      // Nor is the other one's server asked: it may hang.
      const asked = copied.requests()
      await api.call('GET', '/clusters', undefined, token)
      expect(copied.requests()).toBe(asked)
      // For another audience, it is not the other one's either.
      const other = await serve({ issuers: [{ ...byUrl, audiences: ['other'] }, pinned.settings] })
      const refused = await other.call('GET', '/clusters', undefined, bearer(await pinned.token({ aud: 'other' })))
      expect([refused.status, refused.body.detail]).toEqual([401, expect.stringContaining('its claim aud')])
    }
  })

  // API-154
  test('of two issuers of one name with keys by URL is never taken: they are refused at the start', async () => {
    const [first, second] = [await testIssuer({ defaultRoles: ['reader'] }), await testIssuer()]
    const at = (url: string) => ({ ...second.settings, issuer: first.name, keys: { url } })
    await expect(
      serve({ issuers: [at('https://one.test/jwks'), first.settings, at('https://other.test/jwks')] }),
    ).rejects.toThrow(/with keys by URL/)
  })

  test('is never more than 401, whatever is sent in its place', async () => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings] })
    const parts = (await issuer.token({ roles: ['admin'] })).split('.')
    const json = fc.json().map((text) => base64url.encode(text))
    const part = (at: number) => fc.oneof(fc.constant(parts[at] ?? ''), json, fc.base64String(), fc.constant(''))
    const forged = fc.tuple(part(0), part(1), part(2)).filter((found) => found.some((text, at) => text !== parts[at]))
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          forged.map((found) => found.join('.')),
          fc.base64String(),
        ),
        async (token) => {
          const { status, body } = await api.call('GET', '/clusters', undefined, bearer(token))
          expect([status, JSON.stringify(body).includes('node_modules')]).toEqual([401, false])
        },
      ),
      { numRuns: repetitions({ deep: 1_000, slice: 50 }) },
    )
  })

  test('is not asked for the API’s description', async () => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings] })
    expect((await api.call('GET', '/openapi')).status).toBe(200)
    expect((await fetch(`${api.url}/api/hyperfleet`)).status).toBe(200)
  })

  test('is looked at before the body is read', async () => {
    const issuer = await testIssuer()
    const api = await serve({ issuers: [issuer.settings] })
    expect((await api.call('POST', '/clusters', 'x'.repeat(2 * 1024 * 1024))).status).toBe(401)
  })
})

describe('who writes', () => {
  const createdBy = async (issuer: TestIssuer, claims: object, headers: Record<string, string> = {}) => {
    const api = await serve({ issuers: [issuer.settings] })
    const token = await issuer.token({ roles: ['editor'], ...claims })
    const { status, body } = await api.call(
      'POST',
      '/clusters',
      { name: 'one', spec: {} },
      { ...bearer(token), ...headers },
    )
    return status === 201 ? body.created_by : [status, body.code, body.detail]
  }

  test('is the e-mail address of the token when its issuer says that it is verified, else its subject', async () => {
    expect(await createdBy(await testIssuer(), { email: 'a@example.com', email_verified: true })).toBe('a@example.com')
    expect(await createdBy(await testIssuer(), { email: 'a@example.com' })).toBe('somebody')
    expect(await createdBy(await testIssuer(), { sub: 'system:serviceaccount:a:b' })).toBe('system:serviceaccount:a:b')
    expect(await createdBy(await testIssuer(), { email: 'a@example.com', email_verified: false })).toBe('somebody')
  })

  test('is the configured claim and no other, and without it nothing is written though reading is fine', async () => {
    const issuer = await testIssuer({ identityClaim: 'account.name' })
    expect(await createdBy(issuer, { account: { name: 'a' } })).toBe('a')
    expect(await createdBy(issuer, {})).toEqual([
      401,
      'HYPERFLEET-AUT-001',
      'Unable to resolve caller identity: the token has no claim account.name',
    ])
    expect(await createdBy(issuer, { account: { name: 'a'.repeat(257) } })).toEqual([
      401,
      'HYPERFLEET-AUT-001',
      'Unable to resolve caller identity: the claim account.name has more than 256 characters',
    ])
    const api = await serve({ issuers: [issuer.settings] })
    expect(
      (await api.call('GET', '/clusters', undefined, bearer(await issuer.token({ roles: ['reader'] })))).status,
    ).toBe(200)
  })

  test('is whom a gateway’s header names, only where that is configured', async () => {
    const trusting = await testIssuer({ identityHeader: 'X-User' })
    expect(await createdBy(trusting, {}, { 'x-user': 'b@example.com' })).toBe('b@example.com')
    expect(await createdBy(await testIssuer(), {}, { 'x-user': 'b@example.com' })).toBe('somebody')
  })
})

describe('roles', () => {
  test('come from a claim, from a mapping of subjects and groups, and from the issuer’s default', async () => {
    const issuer = await testIssuer({
      rolesClaim: 'realm_access.roles',
      mappings: [
        { subject: 'a@example.com', roles: ['editor'] },
        { group: 'operators', roles: ['adapter', 'admin'] },
      ],
    })
    const api = await serve({ issuers: [issuer.settings] })
    const may = async (claims: object) => {
      const headers = bearer(await issuer.token(claims as Record<string, unknown>))
      const read = await api.call('GET', '/clusters', undefined, headers)
      const write = await api.call('POST', '/clusters', {}, headers)
      return [read.status !== 403, write.status !== 403]
    }
    expect(await may({})).toEqual([false, false])
    expect(await may({ realm_access: { roles: ['reader', 'owner'] } })).toEqual([true, false])
    expect(await may({ roles: ['admin'] })).toEqual([false, false])
    expect(await may({ email: 'a@example.com', email_verified: true })).toEqual([true, true])
    expect(await may({ groups: ['people', 'operators'] })).toEqual([true, true])
    const open = await serve({ issuers: [{ ...issuer.settings, defaultRoles: ['reader'] }] })
    expect((await open.call('GET', '/clusters', undefined, bearer(await issuer.token()))).status).toBe(200)
  })

  // API-45
  test('every operation is refused to every role that it is not for, and says which one it needs', async () => {
    const everyName = [{ subject: 'somebody', roles: [], adapters: ['*'], consumers: ['*'] }]
    const issuer = await testIssuer({ mappings: everyName })
    const api = await serve({ issuers: [issuer.settings] })
    const { paths } = (await api.call('GET', '/openapi')).body as {
      paths: Record<string, Record<string, { operationId: string; security?: { bearer: [Role] }[] }>>
    }
    const held = new Map(
      await Promise.all(ROLES.map(async (role) => [role, bearer(await issuer.token({ roles: [role] }))] as const)),
    )
    let walked = 0
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { operationId, security }] of Object.entries(methods)) {
        const needed = security?.[0]?.bearer[0]
        if (needed === undefined) continue
        const target = path.replace('/api/hyperfleet/v1', '').replace(/\{\w+\}/g, 'none')
        for (const [role, headers] of held) {
          const { status, body } = await api.call(
            method.toUpperCase(),
            target,
            method === 'get' ? undefined : '{}',
            headers,
          )
          expect([operationId, role, status === 403]).toEqual([operationId, role, !permits(needed, [role])])
          if (status === 403) {
            expect(body.code).toBe('HYPERFLEET-AUZ-001')
            expect(body.detail).toBe(`this needs the role ${needed}, and you have ${role}`)
          }
          walked += 1
        }
      }
    expect(walked).toBeGreaterThan(100)
  })
})

describe('an issuer’s keys', () => {
  const asking = async (keys: (issuer: TestIssuer) => TestIssuer['settings']['keys']) => {
    const issuer = await testIssuer()
    const clock = manualClock()
    const api = await serve({ issuers: [{ ...issuer.settings, keys: keys(issuer) }] }, clock)
    const list = async () => {
      const token = await issuer.token({ roles: ['reader'] })
      const { status, body } = await api.call('GET', '/clusters', undefined, bearer(token))
      return status === 200 ? 200 : [status, body.code]
    }
    return { issuer, clock, list }
  }

  test('rotate without a restart; unknown ones are looked for at most every 10 s', async () => {
    const { issuer, clock, list } = await asking(({ file }) => ({ file }))
    expect(await list()).toBe(200)
    await issuer.rotate()
    expect(await list()).toEqual([401, 'HYPERFLEET-AUT-002'])
    await clock.advance(10 * SECONDS)
    expect(await list()).toBe(200)
  })

  test('that were taken back are not good for longer than 5 minutes', async () => {
    const issuer = await testIssuer()
    const clock = manualClock()
    const api = await serve({ issuers: [issuer.settings] }, clock)
    const headers = bearer(await issuer.token({ roles: ['reader'] }))
    await issuer.rotate()
    expect((await api.call('GET', '/clusters', undefined, headers)).status).toBe(200)
    await clock.advance(301 * SECONDS)
    await vi.waitUntil(async () => (await api.call('GET', '/clusters', undefined, headers)).status === 401, {
      timeout: 30_000,
    })
  })

  test('at a URL that is away stay good, while unknown ones can’t be told: 503', async () => {
    const issuer = await testIssuer()
    const server = await issuer.serve()
    const clock = manualClock()
    const api = await serve({ issuers: [{ ...issuer.settings, keys: { url: server.url } }] }, clock)
    const old = bearer(await issuer.token({ roles: ['reader'] }))
    const list = async (headers: Record<string, string>) =>
      (await api.call('GET', '/clusters', undefined, headers)).status
    expect(await list(old)).toBe(200)
    await server.stop()
    await issuer.rotate()
    await clock.advance(11 * SECONDS)
    expect(await list(bearer(await issuer.token({ roles: ['reader'] })))).toBe(503)
    expect(await list(old)).toBe(200)
    await clock.advance(25 * 3600 * SECONDS)
    const longAfter = { exp: BEGINNING + 30 * 3600, roles: ['reader'] }
    expect(await list(bearer(await issuer.token(longAfter)))).toBe(503)
  })

  test('at a URL are asked for once, however many send unknown ones', async () => {
    const issuer = await testIssuer()
    const server = await issuer.serve()
    const clock = manualClock()
    const api = await serve({ issuers: [{ ...issuer.settings, keys: { url: server.url } }] }, clock)
    await clock.advance(11 * SECONDS)
    const tokens = await Promise.all(Array.from({ length: 20 }, (_, at) => issuer.token({}, { kid: `unknown-${at}` })))
    const answers = await Promise.all(tokens.map((token) => api.call('GET', '/clusters', undefined, bearer(token))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect(server.requests()).toBe(2)
  })

  test('in a file that isn’t there, or is no set of keys, keep the API from starting', async () => {
    const issuer = await testIssuer()
    const start = (file: string) => serve({ issuers: [{ ...issuer.settings, keys: { file } }] })
    await expect(start('/nonexistent')).rejects.toThrow('ENOENT')
    await writeFile(issuer.file, '[]')
    await expect(start(issuer.file)).rejects.toThrow('is no JSON Web Key Set')
  })
})

test('with authentication the API serves the network', async () => {
  const issuer = await testIssuer()
  const api = await serve({ listen: { port: 0 }, issuers: [issuer.settings] })
  expect((await api.call('GET', '/clusters')).status).toBe(401)
})

test('service accounts of a real cluster are known by the tokens that its API server gives them', async () => {
  const { rest, server, kubeconfig, namespace, kubectl } = await sharedControlPlane()
  const own = await namespace('auth')
  const tokenOf = async (audiences: string[]): Promise<string> => {
    const path = `/api/v1/namespaces/${own}/serviceaccounts/sentinel/token`
    return (await rest<{ status: { token: string } }>('POST', path, { spec: { audiences, expirationSeconds: 600 } }))
      .status.token
  }
  await kubectl('create', 'serviceaccount', 'sentinel', '-n', own)
  const issuer = await testIssuer()
  const caFile = `${issuer.file}.ca`
  const tokenFile = `${issuer.file}.token`
  const config: Json = JSON.parse(await kubectl('config', 'view', '--raw', `--kubeconfig=${kubeconfig}`, '-o', 'json'))
  await writeFile(caFile, Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64'))
  await writeFile(tokenFile, await tokenOf([]))
  const { settings } = issuer
  const api = await serve(
    {
      issuers: [
        {
          ...settings,
          issuer: { sameAsTokenFile: tokenFile },
          keys: { url: `${server}/openid/v1/jwks`, caFile, tokenFile },
          mappings: [{ subject: `system:serviceaccount:${own}:sentinel`, roles: ['editor'] }],
        },
      ],
    },
    { ...manualClock(), now: () => new Date() },
  )
  const create = async (token: string) => api.call('POST', '/clusters', { name: 'one', spec: {} }, bearer(token))
  expect((await create(await tokenOf(['hyperfleet-api']))).body.created_by).toBe(
    `system:serviceaccount:${own}:sentinel`,
  )
  expect((await create(await tokenOf([]))).body.code).toBe('HYPERFLEET-AUT-002')
})
