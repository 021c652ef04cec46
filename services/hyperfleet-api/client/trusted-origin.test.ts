import { expect, test } from 'vitest'
import { tokenFileFor } from './trusted-origin.ts'

const API = { url: 'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080', tokenFile: '/token' }

// SENTINEL-45, ADAPTER-95
test('only the origin of the flag gets the token, however a URL is written', () => {
  expect(tokenFileFor(`${API.url}/below`, API)).toBe('/token')
  expect(tokenFileFor('HTTP://HyperFleet-API.hyperfleet-system.svc.cluster.local:8080/', API)).toBe('/token')
  for (const url of [
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local',
    'https://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local.example.com:8080',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080@example.com/',
    'http://example.com/?http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://example.com#@hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://example.com\\@hyperfleet-api.hyperfleet-system.svc.cluster.local:8080/',
  ])
    expect(tokenFileFor(url, API)).toBeUndefined()
  expect(tokenFileFor(API.url, { ...API, url: undefined })).toBeUndefined()
})
