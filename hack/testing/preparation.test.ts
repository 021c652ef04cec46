import { expect, test } from 'vitest'
import { ARGOCD } from '../argocd/binaries.ts'
import { CONTROL_PLANE } from '../controlplane/binaries.ts'
import { announce } from './preparation.ts'

const redis = { title: 'Redis', package: 'redis-server', missing: () => 'Redis is not installed' }
const postgres = { title: 'PostgreSQL', package: 'postgresql', missing: () => undefined }
const preparation = {
  builds: [
    { set: CONTROL_PLANE, seconds: 400 },
    { set: ARGOCD, seconds: 200 },
  ],
  installs: [redis, postgres],
  install: true,
}

test('a first run says what it will build and install, and how long that takes', () => {
  expect(announce(preparation, { built: () => false, may: () => true })).toEqual([
    'To build with Go, once: the control plane and Argo CD; about 10 min on two cores.',
    "To install from Debian's packages: Redis (redis-server); a minute or two. --no-install leaves them out.",
  ])
})

test('what may not be installed is named, because tests skip without it', () => {
  const skips = ['Not installed, so what needs them skips: Redis (redis-server).']
  expect(announce({ ...preparation, install: false }, { built: () => true, may: () => true })).toEqual(skips)
  expect(announce(preparation, { built: () => true, may: () => false })).toEqual(skips)
})

test('where all is there, nothing is said', () => {
  expect(announce({ ...preparation, installs: [postgres] }, { built: () => true, may: () => true })).toEqual([])
})
