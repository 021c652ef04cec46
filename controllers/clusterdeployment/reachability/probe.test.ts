import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { scriptedServer, writeEndlessly } from '#test/harness/scripted-server.ts'
import { probeApiServer } from './probe.ts'

const probe = (config: Parameters<typeof probeApiServer>[0]) =>
  probeApiServer(config, { userAgent: 'test', clock: systemClock, signal: new AbortController().signal })

// CLUSTER-20
test('a server that answers without end is left after a little, and it is said why', async () => {
  const block = Buffer.alloc(16 * 1024, 'x')
  let sent = 0
  await using server = await scriptedServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    writeEndlessly(response, block, () => {
      sent += block.length
    })
  })
  expect(await probe(server.kubeConfig)).toContain('an answer is larger than 65536 bytes')
  // What is on its way in buffers comes on top.
  expect(sent).toBeLessThan(8 * 2 ** 20)
})
