import { expect, test } from 'vitest'
import { currentUrl, isTrustedOrigin } from './trusted-origin.ts'

const API = { url: 'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080' }

// SENTINEL-45, ADAPTER-95
test('only the origin of the flag gets the token, however a URL is written', () => {
  expect(isTrustedOrigin(`${API.url}/below`, API)).toBe(true)
  expect(isTrustedOrigin('HTTP://HyperFleet-API.hyperfleet-system.svc.cluster.local:8080/', API)).toBe(true)
  for (const url of [
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local',
    'https://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local.example.com:8080',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080@example.com/',
    'http://example.com/?http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://example.com#@hyperfleet-api.hyperfleet-system.svc.cluster.local:8080',
    'http://example.com\\@hyperfleet-api.hyperfleet-system.svc.cluster.local:8080/',
  ])
    expect(isTrustedOrigin(url, API)).toBe(false)
  expect(isTrustedOrigin(API.url, { url: undefined })).toBe(false)
})

// API-180
test('where the operator names the API by https, its former address means the same API, and no other one does', () => {
  const api = { url: 'https://hyperfleet-api.hyperfleet-system.svc.cluster.local' }
  for (const path of ['', '/', '/below/']) {
    const former = `${API.url}${path}`
    expect(currentUrl(former, api)).toBe(`${api.url}${path === '' ? '/' : path}`)
    expect(isTrustedOrigin(former, api)).toBe(true)
  }
  expect(currentUrl(`http://someone:secret@${new URL(API.url).host}/`, api)).toBe(`${api.url}/`)
  expect(currentUrl(API.url, { url: `${api.url}:8443/api` })).toBe(`${api.url}:8443/`)
  for (const url of [
    `${api.url}/`,
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8000/',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local/',
    'http://hyperfleet-api.hyperfleet-system.svc:8080/',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local.example.com:8080/',
    'http://hyperfleet-api.hyperfleet-system.svc.cluster.local:8080@example.com/',
    'nothing',
  ]) {
    expect(currentUrl(url, api)).toBe(url)
    if (url.startsWith('http:')) expect(isTrustedOrigin(url, api)).toBe(false)
  }
  // An operator that names it by http has said so.
  expect(currentUrl(API.url, API)).toBe(API.url)
  expect(currentUrl(API.url, { url: undefined })).toBe(API.url)
})
