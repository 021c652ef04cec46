import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { manualClock } from '#test/harness/clock.ts'
import { json, scriptedServer, writeEndlessly } from '#test/harness/scripted-server.ts'
import type { KubeObject, Resource } from '../model/resource.ts'
import { createApi } from './api.ts'
import { AnswerTooLargeError, readText } from './bounded-text.ts'
import { MAX_ANSWER_BYTES } from './heap-shares.ts'
import { AnswerTooSlowError, Movement } from './moving.ts'
import { createTransport } from './transport.ts'

const NODES: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'nodes',
  kind: 'Node',
  scope: 'Cluster',
  subresources: [],
}

test('RUNTIME-53: an answer and a line without end are cut off, and the connection is given up', async () => {
  const block = Buffer.alloc(1024 * 1024, 'x')
  let sent = 0
  await using server = await scriptedServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    writeEndlessly(response, block, () => {
      sent += block.length
    })
  })
  const transport = createTransport(server.kubeConfig)
  await expect(transport.request({ method: 'GET', path: '/x' })).rejects.toBeInstanceOf(AnswerTooLargeError)
  await expect(Array.fromAsync(transport.stream({ path: '/x' }))).rejects.toThrow(/a line of a watch is larger than/)
  await transport.close()
  // What was on its way in buffers comes on top.
  expect(sent).toBeLessThan(2 * MAX_ANSWER_BYTES)
})

test('RUNTIME-53: a list of objects of a megabyte is read in pages that fit, each object once', async () => {
  const filling = 'x'.repeat(1024 * 1024)
  const names = Array.from({ length: 90 }, (_, index) => `node-${index}`)
  const asked: number[] = []
  await using server = await scriptedServer(({ query }, response) => {
    const limit = Number(query.get('limit'))
    const from = Number(query.get('continue') ?? 0)
    asked.push(limit)
    const items = names.slice(from, from + limit).map((name) => ({ metadata: { name }, filling }))
    const next = from + limit < names.length ? String(from + limit) : undefined
    json(response, 200, { metadata: { resourceVersion: '1', ...(next && { continue: next }) }, items })
  })
  const transport = createTransport(server.kubeConfig)
  const found: string[] = []
  for await (const { metadata } of createApi(transport).list(NODES, { pageSize: 120 })) found.push(metadata.name)
  await transport.close()
  expect(found).toEqual(names)
  expect(asked).toEqual([120, 60, 60])
})

const WINDOW_MS = 30_000

test('RUNTIME-54: a body of a byte now and then is given up, and cut', async () => {
  const clock = manualClock()
  const body = Readable.from(
    (async function* () {
      for (let n = 0; n < 1_000; n++) {
        await clock.advance(10_000)
        yield Buffer.from('x')
      }
    })(),
  )
  await expect(readText(body, new Movement(clock, WINDOW_MS))).rejects.toThrow(new AnswerTooSlowError(3, WINDOW_MS))
  expect(body.destroyed).toBe(true)
})

test('a body that broke before it was read fails with what broke it', async () => {
  const body = new Readable({ read: () => undefined })
  body.on('error', () => undefined)
  body.destroy(new Error('the network broke'))
  await new Promise((resolve) => body.once('close', resolve))
  await expect(readText(body, new Movement(manualClock(), WINDOW_MS))).rejects.toThrow('the network broke')
})

test('a character that two chunks share is read as one', async () => {
  const bytes = Buffer.from('“é”')
  const body = Readable.from([bytes.subarray(0, 4), bytes.subarray(4)])
  expect(await readText(body, new Movement(manualClock(), WINDOW_MS))).toBe('“é”')
})
