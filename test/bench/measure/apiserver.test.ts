import { expect, test } from 'vitest'
import { parseRequests, requestsBetween } from './apiserver.ts'

const metrics = (patches: number, watches: number): string => `
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",group="bench.muster.io",resource="gadgets",scope="resource",subresource="",verb="PATCH"} ${patches}
apiserver_request_total{code="409",component="apiserver",group="bench.muster.io",resource="gadgets",scope="resource",subresource="status",verb="PATCH"} 2
apiserver_request_total{code="200",component="apiserver",group="bench.muster.io",resource="gadgets",scope="cluster",subresource="",verb="WATCH"} ${watches}
apiserver_request_total{code="200",component="apiserver",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT"} ${watches}
apiserver_request_duration_seconds_count{resource="gadgets",verb="PATCH"} 77
`

test('requests are summed by verb and resource over all codes and subresources', () => {
  expect(parseRequests(metrics(5, 1)).get('PATCH gadgets')).toBe(7)
})

test('between two readings only what was asked in between counts, and no watches and leases', () => {
  expect(requestsBetween(parseRequests(metrics(5, 1)), parseRequests(metrics(8, 9)))).toEqual([['PATCH gadgets', 3]])
  expect(requestsBetween(parseRequests(metrics(5, 1)), parseRequests(metrics(5, 9)))).toEqual([])
})
