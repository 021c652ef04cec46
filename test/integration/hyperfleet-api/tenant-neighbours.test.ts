/** What a tenant learns of others, or takes from them, by what they share: queues, ids, limits, a gateway. On an API of its own. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { bearer, testIssuer } from './issuer.ts'
import { type Json, openWatch, serve } from './support.ts'
import { BLUE, RED, SYSTEM, tenants } from './tenant-rules.ts'

const world = async () => {
  const api = await serve({ tenants })
  const create = async (name: string, tenant: Record<string, string>): Promise<Json> =>
    (await api.call('POST', '/clusters', { name, spec: {} }, tenant)).body
  return { api, create }
}

// API-181
test('attack: a tenant counts what others have in the queues by the place of its own in them', async () => {
  const { api, create } = await world()
  const consumer = await api.call('PUT', '/events/consumers/dns', { resourceType: 'clusters' }, SYSTEM)
  expect(consumer.status).toBeLessThan(300)
  const pulse = (resourceId: string) =>
    api.call('POST', '/events', { resourceType: 'clusters', resourceId, reason: 'New' }, SYSTEM)
  for (const name of ['aaa', 'bbb', 'ccc']) await pulse((await create(name, BLUE)).id)
  const { id } = await create('mine', RED)
  await pulse(id)
  const queueFor = async (tenant: Record<string, string>) =>
    (await api.call('GET', `/clusters/${id}/explain`, undefined, tenant)).body.queue
  expect(await queueFor(SYSTEM)).toMatchObject([{ group: 'dns', state: 'Waiting', position: 4 }])
  const [told] = await queueFor(RED)
  expect(told).toMatchObject({ group: 'dns', state: 'Waiting' })
  expect(told).not.toHaveProperty('position')
})

// API-182
test('attack: a tenant counts the requests and records of others by the ids that it is told', async () => {
  const { api, create } = await world()
  const counterOf = (id: string | null) => Number.parseInt((id ?? '').slice(15, 18), 16)
  const told = async () => {
    const { headers } = await api.call('GET', '/clusters?size=1', undefined, RED)
    return counterOf(headers.get('x-request-id'))
  }
  // The clock of the test stands still: all of this is one millisecond.
  const counters = [await told(), await told(), await told()]
  for (const name of ['aaa', 'bbb', 'ccc']) await create(name, BLUE)
  counters.push(await told())
  const steps = counters.slice(1).map((counter, at) => counter - (counters[at] ?? 0))
  expect(steps.every((step) => step > 0 && step < 100)).toBe(false)
  const [one, other] = [await create('one', RED), await create('two', RED)]
  expect(one.id.slice(19)).not.toBe(other.id.slice(19))
})

// API-183
test('attack: a tenant learns what others do by the limits of its gateway, or uses them up; each tenant has its own, whatever it calls its projects', async () => {
  const issuer = await testIssuer()
  const api = await serve({
    tenants: { ...tenants, gateways: ['gateway'] },
    issuers: [issuer.settings],
    maxStreams: 2,
    rateLimit: { rate: 0.001, burst: 4 },
  })
  const gateway = bearer(await issuer.token({ roles: ['reader'], sub: 'gateway' }))
  const open = async (tenant: Record<string, string>) =>
    (await openWatch(api, '/clusters?watch=true', { ...gateway, ...tenant })).status
  const projects = ['a', 'b', 'c'].map((project) => ({ ...RED, 'x-project': project }))
  expect([await open(projects[0] ?? RED), await open(projects[1] ?? RED), await open(projects[2] ?? RED)]).toEqual([
    200, 200, 429,
  ])
  expect([await open(BLUE), await open(BLUE), await open(BLUE)]).toEqual([200, 200, 429])
  const list = async (tenant: Record<string, string>) =>
    (await api.call('GET', '/clusters', undefined, { ...gateway, ...tenant })).status
  expect([await list(RED), await list(RED), await list(BLUE), await list(BLUE)]).toEqual([200, 429, 200, 429])
})

// API-174
test('attack: a caller passes for another tenant, or for the system, by how it spells and repeats the headers', async () => {
  const issuer = await testIssuer()
  const api = await serve({ tenants: { ...tenants, gateways: ['gateway'] }, issuers: [issuer.settings] })
  const token = await issuer.token({ roles: ['reader', 'editor'], sub: 'gateway' })
  const { port } = new URL(api.url)
  const ask = async (...lines: readonly string[]): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1')
    const head = ['GET /api/hyperfleet/v1/clusters HTTP/1.1', 'Host: a', 'Connection: close', ...lines]
    socket.write(`${[...head, `Authorization: Bearer ${token}`, '', ''].join('\r\n')}`)
    return (await text(socket)).split(' ', 2)[1] ?? ''
  }
  expect(await ask('X-Org: red')).toBe('200')
  for (const lines of [
    ['X-Org: red', 'X-Org: blue'],
    ['X-Org: red', 'x-org: red'],
    ['X-Org: red, blue'],
    ['X-Org: red;blue'],
    ['X_Org: red'],
    ['X-Org:'],
    ['X-Org: r\u00e9d'],
    ['X-System: true'],
    ['X-System: true', 'X-Org: red'],
    ['X-System: TRUE', 'X-Org: red'],
    ['X-System: true', 'X-System: true', 'X-Org: red'],
    ['X-System: false', 'X-System: true', 'X-Org: red'],
    [`Authorization: Bearer ${await issuer.token({ roles: ['reader'], sub: 'mallory' })}`, 'X-Org: red'],
  ])
    expect([lines, await ask(...lines)]).toEqual([lines, '403'])
  for (const lines of [[':x-org: red'], ['X-Org : red'], ['X-Org: red\u0000']])
    expect([lines, await ask(...lines)]).toEqual([lines, '400'])
})
