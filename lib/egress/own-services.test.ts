import { expect, test } from 'vitest'
import { weaknessOfTargets } from './own-services.ts'

// SECURITY-21
test.each([
  'https://kubernetes',
  'https://kubernetes.default.svc/api',
  'https://kubernetes.default.svc.cluster.local:443',
  'https://KUBERNETES.default.svc.',
  'https://10.96.0.1:6443',
  'https://node-1.example.com:10250/run',
  'http://169.254.169.254/latest',
  'http://2852039166',
  'http://[fe80::1]',
  'http://metadata.google.internal/computeMetadata',
])('%s is one of the cluster’s own', (url) => {
  expect(weaknessOfTargets(['https://inventory.example.com', url])?.what).toContain(url)
})

test('other services, and none, are fine', () => {
  expect(weaknessOfTargets([])).toBeUndefined()
  expect(
    weaknessOfTargets(['https://kubernetes.example.com', 'http://127.0.0.1:8470/clusters', 'https://x.default.svc']),
  ).toBeUndefined()
})
