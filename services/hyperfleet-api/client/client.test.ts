import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { json, scriptedServer } from '#test/harness/scripted-server.ts'
import { createHyperFleetClient } from './client.ts'

test('a redirect is no success: an event that was not taken is not taken for posted', async () => {
  await using server = await scriptedServer((_request, response) =>
    response.writeHead(308, { location: 'https://api.example.com/' }).end(),
  )
  const api = createHyperFleetClient({ url: server.url, timeout: 5_000, userAgent: 'test', clock: systemClock })
  const event = { resourceType: 'clusters', resourceId: 'c1', reason: 'New' }
  await expect(api.createEvent(event, '', new AbortController().signal)).rejects.toMatchObject({
    reason: 'APIRefused',
    status: 308,
    message: `POST ${server.url}/api/hyperfleet/v1/events: 308: redirects are not followed, write the URL that it leads to`,
  })
  await api.close()
})

test('RUNTIME-46: after requests that answered, refused and were cut, the signal of the process holds nothing of them', async () => {
  await using server = await scriptedServer((_request, response, before) => {
    if (before % 3 === 0) json(response, 201, {})
    else if (before % 3 === 1) json(response, 403, {})
    else response.destroy()
  })
  const api = createHyperFleetClient({ url: server.url, timeout: 5_000, userAgent: 'test', clock: systemClock })
  const { signal } = new AbortController()
  const event = { resourceType: 'clusters', resourceId: 'c1', reason: 'New' }
  for (let i = 0; i < 60; i++) await api.createEvent(event, '', signal).catch(() => undefined)
  for (let i = 0; i < 30; i++) await Array.fromAsync(api.watch('clusters', {}, signal)).catch(() => undefined)
  expect(server.requests.length).toBeGreaterThanOrEqual(90)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  await api.close()
})
