import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createStore } from '#operator/client/store.ts'
import { silent } from '#operator/model/log.ts'
import type { KubeObject } from '#operator/model/resource.ts'
import type { Cache } from '#operator/operator.ts'
import { manualClock } from '#test/harness/index.ts'
import type { Guard } from './access/guard.ts'
import { createApp } from './app.ts'
import type { Sources } from './sources.ts'

/** A dashboard of nothing, on a port of its own. */
const dashboard = async (guard: Guard) => {
  const clock = manualClock()
  const watching = Promise.withResolvers<void>()
  const sources: Sources = {
    objects: <O extends KubeObject>(): Cache<O> =>
      Object.assign(createStore<O>(), {
        subscribe: () => {
          watching.resolve()
          return () => {}
        },
      }),
    fleet: () => undefined,
    runs: () => undefined,
  }
  const stopping = new AbortController()
  const app = await createApp({
    sources,
    guard,
    isSecure: false,
    clock,
    log: silent,
    version: '0.0.0-test',
    assets: undefined,
    stopping: stopping.signal,
  })
  await app.ready()
  const left = Promise.withResolvers<void>()
  const server = createServer((request, response: ServerResponse) => {
    response.once('close', left.resolve)
    app.routing(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    stopping.abort()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const headers = { accept: 'text/event-stream', authorization: 'Bearer token' }
  return {
    clock,
    /** Begins to follow a page. */
    open: () => get({ host: '127.0.0.1', port, path: '/', headers }).on('error', () => {}),
    /** A page is followed. */
    watching: watching.promise,
    /** The server knows that a viewer left. */
    left: left.promise,
  }
}

test('a viewer who leaves while it is asked who it is keeps no stream', async () => {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<Awaited<ReturnType<Guard['authorize']>>>()
  const { clock, open, watching, left } = await dashboard({
    authorize: () => {
      asked.resolve()
      return answer.promise
    },
  })
  const viewer = open()
  await asked.promise
  viewer.destroy()
  await left
  answer.resolve({ kind: 'allowed', user: 'viewer' })
  await watching
  await turn()
  expect(clock.sleepers()).toBe(0)
})

test('an open page ends within a minute after its viewer may not look any more, not while that is unknown', async () => {
  let verdict: Awaited<ReturnType<Guard['authorize']>> = { kind: 'allowed', user: 'viewer' }
  const { clock, open } = await dashboard({ authorize: async () => verdict })
  const [answer] = (await once(open(), 'response')) as [IncomingMessage]
  let isOver = false
  answer.resume().once('end', () => {
    isOver = true
  })
  await once(answer, 'data')
  verdict = { kind: 'unavailable', reason: 'the API server is away' }
  await clock.advance('1m')
  expect(clock.sleepers()).toBe(2)
  expect(isOver).toBe(false)
  verdict = { kind: 'unauthenticated' }
  await clock.advance('1m')
  await expect.poll(() => isOver).toBe(true)
  expect(clock.sleepers()).toBe(0)
})
