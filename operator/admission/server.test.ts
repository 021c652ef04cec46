import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Definition } from '../engine/definition.ts'
import { silent as log } from '../model/log.ts'
import { createAuthority, type KeyPair, signLeaf } from './certificates.ts'
import { createWebhookServer } from './server.ts'

const definition = { name: 'widgets', validators: [], mutators: [] } as unknown as Definition
const server = createWebhookServer([definition], { host: '127.0.0.1', port: 0 }, log)
let authority: KeyPair
let port = 0

const post = (path: string, body: string, ca = authority.certificate): Promise<{ code?: number; body: string }> =>
  new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, method: 'POST', ca, agent: false }, (response) => {
      text(response).then(
        (said) => resolve({ ...(response.statusCode && { code: response.statusCode }), body: said }),
        reject,
      )
    })
    call.on('error', reject)
    call.end(body)
  })

beforeAll(async () => {
  authority = await createAuthority('muster', Date.now())
  server.serve(await signLeaf(authority, ['127.0.0.1'], Date.now()))
  port = await server.listening
})
afterAll(() => server.stop(0))

describe('the webhook server', () => {
  it('answers a review with its uid', async () => {
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: { uid: 'r', operation: 'CREATE', object: { metadata: {} }, oldObject: null, userInfo: {} },
    }
    expect(await post('/validate/widgets', JSON.stringify(review))).toEqual({
      code: 200,
      body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"r","allowed":true}}',
    })
  })

  it.each([
    ['/validate/widgets', '{}', 400],
    ['/validate/others', '{}', 404],
    ['/convert/widgets', '{}', 404],
    ['/mutate/widgets', `"${'x'.repeat(3 * 1024 * 1024)}"`, 413],
  ])('answers %s with a bad body or path by an error', async (path, body, code) => {
    expect((await post(path, body)).code).toBe(code)
  })

  it('takes a new certificate while it serves', async () => {
    const next = await createAuthority('muster', Date.now())
    server.serve(await signLeaf(next, ['127.0.0.1'], Date.now()))
    await expect(post('/validate/widgets', '{}')).rejects.toThrow('certificate')
    expect((await post('/validate/widgets', '{}', next.certificate)).code).toBe(400)
  })
})

describe('RUNTIME-51: a stop', () => {
  let begun = Promise.withResolvers<void>()
  let answer = Promise.withResolvers<void>()
  const review = { uid: 'r', operation: 'CREATE', object: { metadata: {} }, oldObject: null, userInfo: {} }
  const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: review })
  const slow = {
    ...definition,
    validators: [
      {
        id: 'slow',
        filters: {},
        run: async () => {
          begun.resolve()
          await answer.promise
        },
      },
    ],
  } as unknown as Definition

  it.each([
    ['answers the review that is in flight', 60_000, true],
    ['cuts a review that is not answered in time', 0, false],
  ])('%s', async (_, graceMs, isAnswered) => {
    begun = Promise.withResolvers()
    answer = Promise.withResolvers()
    const stopped = createWebhookServer([slow], { host: '127.0.0.1', port: 0 }, log)
    stopped.serve(await signLeaf(authority, ['127.0.0.1'], Date.now()))
    port = await stopped.listening
    const asked = post('/validate/widgets', body).then(
      ({ code }) => code === 200,
      () => false,
    )
    await begun.promise
    const ended = stopped.stop(graceMs)
    // Later than what is cut at once.
    await new Promise((done) => setTimeout(done, 1))
    if (isAnswered) answer.resolve()
    expect(await asked).toBe(isAnswered)
    await ended
    await expect(post('/validate/widgets', body)).rejects.toThrow('ECONNREFUSED')
  })

  it('keeps no connection open for reviews that would come after that in flight', async () => {
    begun = Promise.withResolvers()
    answer = Promise.withResolvers()
    const stopped = createWebhookServer([slow], { host: '127.0.0.1', port: 0 }, log)
    stopped.serve(await signLeaf(authority, ['127.0.0.1'], Date.now()))
    const agent = new Agent({ keepAlive: true, ca: authority.certificate })
    const options = {
      host: '127.0.0.1',
      port: await stopped.listening,
      agent,
      path: '/validate/widgets',
      method: 'POST',
    }
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request(options, resolve).on('error', reject).end(body)
    })
    await begun.promise
    const ended = stopped.stop(60_000)
    answer.resolve()
    const { headers, statusCode } = await answered
    expect([statusCode, headers.connection]).toEqual([200, 'close'])
    await ended
    agent.destroy()
  })
})
