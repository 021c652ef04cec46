import { expect, test } from 'vitest'
import { type Manifest, missingFrom, pointedAt, resting } from './manifests.ts'

const deployment: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'hyperfleet-api', namespace: 'hyperfleet-system' },
  spec: { replicas: 1, selector: {} },
}

const config: Manifest = {
  apiVersion: 'hyperfleet.redhat.com/v1alpha1',
  kind: 'SentinelConfig',
  metadata: { name: 'us-east', namespace: 'hyperfleet-system' },
  spec: { resourceType: 'clusters', hyperfleetAPI: { url: 'http://in-cluster', timeout: '10s' } },
}

test('what would run in the cluster rests there', () => {
  expect(resting(deployment).spec).toEqual({ replicas: 0, selector: {} })
  expect(resting(config)).toBe(config)
})

const pointed = pointedAt('http://127.0.0.1:8000')

test("a SentinelConfig talks to this machine's API and keeps everything else", () => {
  expect(pointed(config).spec).toEqual({
    resourceType: 'clusters',
    hyperfleetAPI: { url: 'http://127.0.0.1:8000', timeout: '10s' },
  })
  expect(pointed(deployment)).toBe(deployment)
})

test('so does an AdapterTask', () => {
  const hyperfleetAPI = { url: 'http://127.0.0.1:8000', timeout: '10s' }
  expect(pointed({ ...config, kind: 'AdapterTask' }).spec).toEqual({ resourceType: 'clusters', hyperfleetAPI })
})

test('only what was not there before is removed at the end', () => {
  const other = { ...config, metadata: { ...config.metadata, namespace: 'elsewhere' } }
  expect(missingFrom([deployment, other], [deployment, config])).toEqual([config])
})
