import { expect, test } from 'vitest'
import { parseDuration } from '#operator/model/duration.ts'
import { scriptedServer } from '#test/harness/scripted-server.ts'
import { openHttpConnection } from './connection.ts'

test.each(['60.0005s', '600h', '999999h'])(
  'a request may take %s: an answer that comes before is taken',
  async (timeout) => {
    await using server = await scriptedServer((_request, response) => response.end('here'))
    const { roundTrip, close } = openHttpConnection({ base: server.url, userAgent: 'test' })
    const request = { method: 'GET', url: '/', headers: {}, body: undefined } as const
    expect(await roundTrip(request, parseDuration(timeout), new AbortController().signal)).toMatchObject({
      status: 200,
      text: 'here',
    })
    await close()
  },
)
