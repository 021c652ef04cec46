import { expect, onTestFinished, test } from 'vitest'
import { AdminKubeconfigError, parseAdminKubeconfig } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { createTransport, type Transport } from '#operator/client/transport.ts'
import { silent } from '#operator/model/log.ts'
import { json, refuse, scriptedServer } from '#test/harness/scripted-server.ts'
import { createRenewingTransport } from './renewing-transport.ts'

/** A cluster that takes one token, and the Secret with the token that is in it. */
const world = async (answer: { status: 401 | 403; taken: string }, secret: { token: string; isGone?: true }) => {
  const server = await scriptedServer(({ headers }, response) => {
    if (headers.authorization === `Bearer ${answer.taken}`) json(response, 200, { ok: true })
    else refuse(response, answer.status, 'No', 'not with this token')
  })
  onTestFinished(() => server[Symbol.asyncDispose]())
  let reads = 0
  const transport: Transport = await createRenewingTransport({
    read: async () => {
      reads += 1
      if (secret.isGone) throw new AdminKubeconfigError('the Secret n/admin is not there')
      return { text: textOf(server.url, secret.token), secret: 'n/admin' }
    },
    open: (kubeconfig) => createTransport(parseAdminKubeconfig(kubeconfig)),
    log: silent,
  })
  onTestFinished(() => transport.close())
  return {
    ask: () => transport.request({ method: 'GET', path: '/x' }),
    /** How often the Secret was read, and how often the cluster was asked. */
    counts: () => ({ reads, asked: server.requests.length }),
  }
}

const textOf = (server: string, token: string): string =>
  JSON.stringify({
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token } }],
  })

test.for([401, 403] as const)(
  'after a %i the Secret is read again, and another one is used from then on',
  async (status) => {
    const cluster = { status, taken: 'old' }
    const secret = { token: 'old' }
    const { ask, counts } = await world(cluster, secret)
    await ask()
    expect(counts()).toEqual({ reads: 1, asked: 1 })
    cluster.taken = 'new'
    secret.token = 'new'
    expect(await Promise.all([ask(), ask()])).toEqual([{ ok: true }, { ok: true }])
    const { reads, asked } = counts()
    await ask()
    expect(counts()).toEqual({ reads, asked: asked + 1 })
  },
)

// AGENT-22
test('a cluster that moved is found where the Secret says', async () => {
  const here = await scriptedServer((_, response) => json(response, 200, { ok: true }))
  onTestFinished(() => here[Symbol.asyncDispose]())
  const gone = await scriptedServer((_, response) => json(response, 200, {}))
  await gone[Symbol.asyncDispose]()
  let server = gone.url
  const transport = await createRenewingTransport({
    read: () => Promise.resolve({ text: textOf(server, 't'), secret: 'n/admin' }),
    open: (kubeconfig) => createTransport(parseAdminKubeconfig(kubeconfig)),
    log: silent,
  })
  onTestFinished(() => transport.close())
  server = here.url
  expect(await transport.request({ method: 'GET', path: '/x' })).toEqual({ ok: true })
  expect(transport.server).toBe(here.url)
})

test('the same kubeconfig is not tried again, and one that can’t be read leaves the cluster’s answer', async () => {
  const secret: { token: string; isGone?: true } = { token: 'old' }
  const { ask, counts } = await world({ status: 403, taken: 'new' }, secret)
  await expect(ask()).rejects.toThrow('not with this token')
  expect(counts()).toEqual({ reads: 2, asked: 1 })
  secret.isGone = true
  await expect(ask()).rejects.toThrow('not with this token')
  expect(counts()).toEqual({ reads: 3, asked: 2 })
})
