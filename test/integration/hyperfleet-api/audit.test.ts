import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Logger } from '#operator/model/log.ts'
import { startMuster } from '#test/harness/index.ts'
import { AUDIENCE, bearer, testIssuer } from './issuer.ts'
import { serve } from './support.ts'

type Line = readonly [level: string, message: string, fields: Record<string, unknown>]

const recorder = (): { readonly log: Logger; readonly audits: () => readonly Line[] } => {
  const lines: Line[] = []
  const at =
    (level: string) =>
    (message: string, fields: object = {}) =>
      void lines.push([level, message, { ...fields }])
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log }
  return { log, audits: () => lines.filter(([, message]) => message.startsWith('audit')) }
}

test('every mutation is written down: who did what to which resource, how it ended, and in which request', async () => {
  const issuer = await testIssuer()
  const { log, audits } = recorder()
  const api = await serve({ issuers: [issuer.settings], log })
  const editor = bearer(await issuer.token({ sub: 'ed', roles: ['editor'] }))
  const adapter = bearer(await issuer.token({ sub: 'dns', roles: ['adapter'] }))
  const created = await api.call('POST', '/clusters', { name: 'one', spec: { secret: 'in the spec' } }, editor)
  const { id } = created.body
  await api.call('GET', `/clusters/${id}`, undefined, editor)
  await api.call('POST', '/clusters', { name: 'one', spec: {} }, editor)
  await api.call('PUT', `/clusters/${id}/statuses`, {}, adapter)
  await api.call('DELETE', `/clusters/${id}`, undefined, adapter)
  await api.call('DELETE', `/clusters/${id}`, undefined, editor)
  await vi.waitUntil(() => audits().length === 5, { timeout: 30_000 })
  const short = audits().map(([level, message, { who, operation, id: resource, status, code }]) => {
    const which = resource === id ? 'it' : resource
    return [level, message, who, operation, which, status, code]
  })
  expect(short).toEqual([
    ['info', 'audit', 'ed', 'createCluster', 'it', 201, undefined],
    ['info', 'audit', 'ed', 'createCluster', undefined, 409, 'HYPERFLEET-CNF-001'],
    ['debug', 'audit', 'dns', 'putStatusCluster', 'it', 400, 'HYPERFLEET-VAL-000'],
    ['warn', 'audit: refused', 'dns', 'deleteCluster', 'it', 403, 'HYPERFLEET-AUZ-001'],
    ['info', 'audit', 'ed', 'deleteCluster', 'it', 202, undefined],
  ])
  expect(audits()[0]?.[2]).toMatchObject({
    requestId: created.headers.get('x-request-id'),
    remoteAddress: '127.0.0.1',
  })
  expect(JSON.stringify(audits())).not.toContain('in the spec')
})

// API-155
test('of several issuers the audit log tells which one a caller is of, also where a gateway names the caller', async () => {
  const header = 'X-User'
  const [boston, chicago] = [await testIssuer(), await testIssuer({ shortName: 'chicago', identityHeader: header })]
  const { log, audits } = recorder()
  const api = await serve({ issuers: [boston.settings, chicago.settings], log })
  const claims = { sub: 'dns', roles: ['editor'] }
  const post = (token: string, headers = {}) =>
    api.call('POST', '/clusters', { name: 'one', spec: {} }, { ...bearer(token), ...headers })
  await post(await boston.token(claims))
  await post(await chicago.token(claims))
  await post(await chicago.token(claims), { [header]: 'ann' })
  await post(await chicago.token({ sub: 'dns' }))
  await vi.waitUntil(() => audits().length === 4, { timeout: 30_000 })
  expect(audits().map(([, , { who, subject, status }]) => [who, subject, status])).toEqual([
    ['dns', undefined, 201],
    ['chicago/dns', undefined, 409],
    ['chicago/ann', 'chicago/dns', 409],
    ['chicago/dns', undefined, 403],
  ])
})

test('a real process writes no token down, whatever is done with it, even at its most talkative', async () => {
  const issuer = await testIssuer()
  const folder = await mkdtemp(join(tmpdir(), 'muster-audit-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const config = join(folder, 'config.yaml')
  const jwt = {
    configs: [{ issuer_url: issuer.name, audience: AUDIENCE, jwk_cert_file: issuer.file, roles_claim: 'roles' }],
  }
  await writeFile(config, JSON.stringify({ server: { jwt } }))
  await using api = await startMuster([
    'api',
    '--bind-address=127.0.0.1:0',
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
    `--data-dir=${folder}`,
    `--config=${config}`,
    '--log-level=debug',
  ])
  const { url } = await api.line('the HyperFleet API is serving')
  const clusters = `${String(url)}/api/hyperfleet/v1/clusters`
  const exp = Math.floor(Date.now() / 1000) + 600
  const good = await issuer.token({ exp, roles: ['admin'] })
  const expired = await issuer.token({ exp: exp - 3600, roles: ['admin'] })
  const body = JSON.stringify({ name: 'one', spec: {} })
  const created = await fetch(clusters, { method: 'POST', headers: bearer(good), body })
  expect(created.status).toBe(201)
  expect((await fetch(clusters, { headers: bearer(expired) })).status).toBe(401)
  expect((await fetch(`${clusters}?access_token=${good}`)).status).toBe(401)
  expect((await fetch(`${clusters}?search=${good}`, { headers: bearer(good) })).status).toBe(400)
  await api.line((line) => line.msg === 'audit' && line.requestId === created.headers.get('x-request-id'))
  await api.stop()
  const everything = JSON.stringify([api.log(), api.output()])
  expect(everything).toContain('audit: refused')
  for (const token of [good, expired]) for (const part of token.split('.')) expect(everything).not.toContain(part)
})
