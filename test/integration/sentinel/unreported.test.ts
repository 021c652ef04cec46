/** What the Sentinel makes of resources that no adapter has reported on, as our API serves them. */
import { expect, test } from 'vitest'
import { NEVER_PULSED } from '#controllers/sentinel/decision/decide.ts'
import { inferPulseHistory } from '#controllers/sentinel/decision/pulse-history.ts'
import { readReadiness } from '#controllers/sentinel/decision/readiness.ts'
import { parseResource } from '#controllers/sentinel/decision/resource.ts'
import { REQUESTED_FIELDS } from '#controllers/sentinel/source/list-pages.ts'
import { manualClock } from '#test/harness/index.ts'
import { onBothDatabases, serve } from '../hyperfleet-api/support.ts'

const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
  { kind: 'Channel', plural: 'channels' },
  { kind: 'Version', plural: 'versions', parent_kind: 'Channel', required_adapters: ['dns'] },
]
const backoff = { notReady: 10_000, ready: 1_800_000 }

onBothDatabases((fresh) => {
  const begin = async () => {
    const clock = manualClock()
    const api = await serve({ ...(await fresh()), entities }, clock)
    const only = async (plural: string) => {
      const { items } = (await api.call('GET', `/${plural}?fields=${REQUESTED_FIELDS}`)).body
      return parseResource(items[0])
    }
    return { api, clock, only }
  }

  // API-15
  test('one that was patched and never reported on is new to a first Sentinel', async () => {
    const { api, clock, only } = await begin()
    const { id } = await api.cluster('one')
    await clock.advance('1m')
    await api.call('PATCH', `/clusters/${id}`, { spec: { size: 2 } })
    expect(inferPulseHistory(await only('clusters'), undefined, backoff)).toBe(NEVER_PULSED)
    await api.report(`/clusters/${id}`, { adapter: 'dns', observed_generation: 2 })
    expect(inferPulseHistory(await only('clusters'), undefined, backoff)).toMatchObject({ generation: 2 })
  })

  // SENTINEL-3
  test('one in deletion of a kind without adapters is not ready, so it is pulsed by backoffNotReady', async () => {
    const { api, only } = await begin()
    const { id } = (await api.call('POST', '/channels', { name: 'one', spec: {} })).body
    await api.call('POST', `/channels/${id}/versions`, { name: 'one', spec: {} })
    expect(readReadiness(await only('channels')).ready).toBe(true)
    await api.call('DELETE', `/channels/${id}`)
    expect(readReadiness(await only('channels'))).toMatchObject({ ready: false, condition: undefined })
  })
})
