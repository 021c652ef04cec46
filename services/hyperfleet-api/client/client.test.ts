import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { scriptedServer } from '#test/harness/scripted-server.ts'
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
