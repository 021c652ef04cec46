import { getEventListeners } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { json, refuse, type ScriptedServer, scriptedServer } from '#test/harness/scripted-server.ts'
import { ApiError, NetworkError } from './errors.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

const started = async (script: Parameters<typeof scriptedServer>[0]): Promise<ScriptedServer> => {
  const server = await scriptedServer(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

const connected = (config: KubeConfig, options: TransportOptions = {}): Transport => {
  const transport = createTransport(config, options)
  onTestFinished(() => transport.close())
  return transport
}

const get = { method: 'GET', path: '/x' } as const
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error) => error,
  )

test('a request carries the method, path, query, body, credentials and no wish for compression', async () => {
  const server = await started((_, response) => json(response, 201, { ok: true }))
  const transport = connected(server.kubeConfig, { userAgent: 'tester' })
  const answer = await transport.request({
    method: 'PATCH',
    path: '/apis/a/b%2Fc',
    query: { fieldManager: 'm', force: true, limit: 5, missing: undefined },
    body: { a: 1 },
    contentType: 'application/merge-patch+json',
  })
  expect(answer).toEqual({ ok: true })
  const [request] = server.requests
  expect([request?.method, request?.path, request?.query.toString(), request?.body]).toEqual([
    'PATCH',
    '/apis/a/b%2Fc',
    'fieldManager=m&force=true&limit=5',
    '{"a":1}',
  ])
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer secret',
    'content-type': 'application/merge-patch+json',
    accept: 'application/json',
    'user-agent': 'tester',
  })
  expect(request?.headers).not.toHaveProperty('accept-encoding')
})

test("an error answer is an ApiError with the server's reason, message and details", async () => {
  const server = await started((_, response) =>
    json(response, 422, {
      kind: 'Status',
      code: 422,
      reason: 'Invalid',
      message: 'Pool "a" is invalid: spec.size: must not be negative',
      details: { name: 'a', kind: 'Pool', causes: [{ field: 'spec.size', reason: 'FieldValueInvalid' }] },
    }),
  )
  const error = await failure(connected(server.kubeConfig).request(get))
  expect(error).toBeInstanceOf(ApiError)
  expect(error).toMatchObject({
    status: 422,
    reason: 'Invalid',
    message: 'Pool "a" is invalid: spec.size: must not be negative',
    retryAfter: undefined,
    details: { name: 'a', causes: [{ field: 'spec.size' }] },
  })
})

test('an error answer that is no Status names the request and shows what was said', async () => {
  const server = await started((_, response) => response.writeHead(502).end('<html>Bad Gateway</html>\n'))
  expect(await failure(connected(server.kubeConfig).request(get))).toMatchObject({
    status: 502,
    message: 'GET /x was answered with 502: <html>Bad Gateway</html>',
  })
})

test.each([429, 503])('%i with Retry-After is tried again after that time, and not before', async (status) => {
  const server = await started((_, response, before) =>
    before === 0 ? refuse(response, status, '', 'later', { 'retry-after': '5' }) : json(response, 200, { ok: true }),
  )
  const clock = manualClock()
  const answer = connected(server.kubeConfig, { clock }).request({ ...get, method: 'POST' })
  await expect.poll(() => clock.sleepers()).toBe(1)
  await clock.advance('4999ms')
  expect(server.requests).toHaveLength(1)
  await clock.advance('1ms')
  expect(await answer).toEqual({ ok: true })
})

test('a Retry-After of no time, or of a moment that has come, is no reason to ask without any rest', async () => {
  const server = await started((_, response, before) =>
    before < 2
      ? refuse(response, 503, '', 'later', { 'retry-after': before === 0 ? '0' : 'Wed, 31 Dec 2025 23:59:00 GMT' })
      : json(response, 200, { ok: true }),
  )
  const clock = manualClock('2026-01-01T00:00:00Z')
  const answer = connected(server.kubeConfig, { clock }).request(get)
  for (const asked of [1, 2]) {
    await expect.poll(() => clock.sleepers()).toBe(1)
    expect(server.requests).toHaveLength(asked)
    await clock.advance('1s')
  }
  expect(await answer).toEqual({ ok: true })
})

test('a Retry-After beyond the timeout is left to the caller, in milliseconds', async () => {
  const server = await started((_, response) =>
    refuse(response, 429, 'TooManyRequests', 'slow down', { 'retry-after': '60' }),
  )
  const error = await failure(
    connected(server.kubeConfig, { clock: manualClock() }).request({ ...get, timeout: '59s' }),
  )
  expect(error).toMatchObject({ status: 429, retryAfter: 60_000 })
})

test('a Retry-After may be a date', async () => {
  const server = await started((_, response) =>
    refuse(response, 503, '', '', { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }),
  )
  const clock = manualClock('2026-01-01T00:00:00Z')
  const error = await failure(connected(server.kubeConfig, { clock }).request({ ...get, timeout: '1s' }))
  expect(error).toMatchObject({ retryAfter: 60_000 })
})

test('429 and 503 without Retry-After are not tried again', async () => {
  const server = await started((_, response) => refuse(response, 503, '', 'no'))
  expect(await failure(connected(server.kubeConfig).request(get))).toMatchObject({ status: 503 })
  expect(server.requests).toHaveLength(1)
})

test('a server that is not there, one that says nothing and one that hangs up are told apart', async () => {
  const gone = await scriptedServer(() => {})
  await gone[Symbol.asyncDispose]()
  const refused = await failure(connected(gone.kubeConfig).request(get))
  expect(refused).toBeInstanceOf(NetworkError)
  expect(refused).toMatchObject({
    code: 'ECONNREFUSED',
    message: `GET ${gone.url}/x: connection refused: no API server listens there`,
  })

  const silent = await started(() => {})
  const error = await failure(connected(silent.kubeConfig).request({ ...get, timeout: '100ms' }))
  expect(error).toMatchObject({ code: 'ANSWER_TIMEOUT', message: `GET ${silent.url}/x: no answer in time` })

  const cut = await started((_, response) => response.destroy())
  expect(await failure(connected(cut.kubeConfig).request(get))).toMatchObject({
    message: `GET ${cut.url}/x: the connection was cut`,
  })
})

test("an aborted request throws the signal's own reason, before and while it runs", async () => {
  const server = await started(() => {})
  const transport = connected(server.kubeConfig)
  const reason = new Error('enough')
  expect(await failure(transport.request({ ...get, signal: AbortSignal.abort(reason) }))).toBe(reason)
  expect(server.requests).toHaveLength(0)
  const controller = new AbortController()
  const running = failure(transport.request({ ...get, signal: controller.signal }))
  await expect.poll(() => server.requests.length).toBe(1)
  controller.abort(reason)
  expect(await running).toBe(reason)
})

test('every exchange is counted with its method, host and code', async () => {
  const samples: string[] = []
  const metrics = {
    observe: ({ method, host, code }: { method: string; host: string; code: string }) =>
      samples.push(`${method} ${host} ${code}`),
  }
  const server = await started((_, response, before) =>
    before === 0
      ? refuse(response, 429, '', '', { 'retry-after': '0' })
      : before === 1
        ? json(response, 200, {})
        : response.destroy(),
  )
  const transport = connected(server.kubeConfig, { metrics })
  await transport.request(get)
  await failure(transport.request(get))
  const host = new URL(server.url).host
  expect(samples).toEqual([`GET ${host} 429`, `GET ${host} 200`, `GET ${host} <error>`])
})

test('a stream gives the lines of a 200 and throws what the server says otherwise', async () => {
  const server = await started((_, response, before) =>
    before === 0 ? response.writeHead(200).end('{"a":1}\n{"b":2}\n') : refuse(response, 410, 'Expired', 'too old'),
  )
  const transport = connected(server.kubeConfig)
  expect(String(await Array.fromAsync(transport.stream({ path: '/x' })))).toBe('{"a":1},{"b":2}')
  expect(await failure(Array.fromAsync(transport.stream({ path: '/x' })))).toMatchObject({
    status: 410,
    reason: 'Expired',
  })
})

test('a stream that falls silent fails, one whose consumer leaves frees its connection', async () => {
  let closed = 0
  const server = await started((_, response) => {
    response.on('close', () => {
      closed += 1
    })
    response.writeHead(200).write('{"a":1}\n')
  })
  const transport = connected(server.kubeConfig)
  let opened = 0
  const silent = Array.fromAsync(
    transport.stream({ path: '/x', inactivityTimeout: '100ms', onOpen: () => (opened += 1) }),
  )
  expect(await failure(silent)).toMatchObject({
    code: 'BODY_TIMEOUT',
    message: `GET ${server.url}/x: the answer stopped coming`,
  })
  expect(opened).toBe(1)
  for await (const line of transport.stream({ path: '/x' })) {
    expect(String(line)).toBe('{"a":1}')
    break
  }
  await expect.poll(() => closed).toBe(2)
})

test('a token that is rotated while we run is read again when the server rejects the old one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'token-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'old')
  let valid = 'old'
  const server = await started((request, response) =>
    request.headers.authorization === `Bearer ${valid}`
      ? json(response, 200, { ok: true })
      : refuse(response, 401, 'Unauthorized', 'no'),
  )
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    { name: 'c', server: server.url, skipTLSVerify: false },
    { name: 'u', authProvider: { name: 'tokenFile', config: { tokenFile } } },
  )
  const transport = connected(config)
  expect(await transport.request(get)).toEqual({ ok: true })
  valid = 'new'
  await writeFile(tokenFile, 'new')
  expect(await transport.request(get)).toEqual({ ok: true })
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer old',
    'Bearer old',
    'Bearer new',
  ])

  valid = 'no server has it'
  expect(await failure(transport.request(get))).toMatchObject({ status: 401 })
})

test('an exec plugin gives the token, and one that fails is named in one line', async () => {
  const server = await started((_, response) => json(response, 200, {}))
  const withExec = (script: string): KubeConfig => {
    const config = new KubeConfig()
    config.loadFromClusterAndUser(
      { name: 'c', server: server.url, skipTLSVerify: false },
      { name: 'plugin-user', exec: { command: process.execPath, args: ['-e', script] } },
    )
    return config
  }
  const credential = JSON.stringify({ kind: 'ExecCredential', status: { token: 'from-plugin' } })
  await connected(withExec(`console.log(${JSON.stringify(credential)})`)).request(get)
  expect(server.requests[0]?.headers.authorization).toBe('Bearer from-plugin')
  expect(await failure(connected(withExec(`console.error('no login'); process.exit(1)`)).request(get))).toMatchObject({
    name: 'KubeConfigError',
    message:
      'credentials of user "plugin-user" cannot be read: no login; correct the user in the kubeconfig, or log in again',
  })
})

test('RUNTIME-46: after requests that answered, refused and were cut, the signal of the process holds nothing of them', async () => {
  const server = await started((_, response, before) => {
    if (before % 3 === 0) json(response, 200, {})
    else if (before % 3 === 1) refuse(response, 403, 'Forbidden', 'no')
    else response.destroy()
  })
  const transport = connected(server.kubeConfig)
  const { signal } = new AbortController()
  for (let i = 0; i < 60; i++) await failure(transport.request({ ...get, signal }))
  for (let i = 0; i < 30; i++) await failure(Array.fromAsync(transport.stream({ path: '/x', signal })))
  expect(server.requests).toHaveLength(90)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test.each(['an answer', 'a stream'])('RUNTIME-54: %s that brings a byte now and then is given up', async (kind) => {
  let open: ServerResponse | undefined
  const server = await started((_, response) => {
    open = response
    response.writeHead(200).flushHeaders()
  })
  const clock = manualClock()
  const transport = connected(server.kubeConfig, { clock })
  const reading = kind === 'an answer' ? transport.request(get) : Array.fromAsync(transport.stream({ path: '/x' }))
  let failed: unknown
  void failure(reading).then((error) => {
    failed = error
  })
  await expect
    .poll(
      async () => {
        await clock.advance('71s')
        open?.write(' ')
        return failed
      },
      { timeout: 20_000 },
    )
    .toMatchObject({ message: expect.stringContaining('the answer comes too slowly') })
})
