/** The ways of the network that pods have beside a cluster, as pools close them: POOL-86. What they hold where pods run: test/e2e/kind. */
import { expect, test } from 'vitest'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { Namespace, NetworkPolicy } from '#apis/kubernetes.ts'
import { eventually, type PoolWorld, poolWorld } from './world.ts'

const NAMES = ['muster-default-deny', 'muster-jobs']

const policiesIn = async (the: PoolWorld, namespace: string) =>
  Array.fromAsync(the.api.list(NetworkPolicy, { namespace }))

const namespaceOfCluster = (the: PoolWorld, pool: string) =>
  eventually(async () => {
    const [cluster] = await the.clusters(pool)
    expect(cluster).toBeDefined()
    return cluster?.metadata.namespace ?? ''
  })

test('POOL-86: the namespace of a cluster is closed before anything else is in it', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  await the.start({ server: proxy.server })
  const { metadata } = await the.pool('pool')
  const place = await namespaceOfCluster(the, 'pool')
  const writes = proxy
    .requests()
    .filter(({ method, path }) => method !== 'GET' && path.includes(`/namespaces/${place}/`))
    .map(({ path }) => path)
  const kinds = writes.map((path) => path.replace(/^.*\/namespaces\/[^/]*\/([a-z]+).*$/, '$1'))
  expect(kinds.slice(0, 2)).toEqual(['networkpolicies', 'networkpolicies'])
  expect(kinds).toContain('secrets')
  expect(kinds.at(2)).toBe('secrets')
  const policies = await policiesIn(the, place)
  expect(policies.map(({ metadata: { name } }) => name).toSorted()).toEqual(NAMES)
  for (const policy of policies) expect(policy.metadata.labels?.[POOL_LABELS.uid]).toBe(metadata.uid)
})

test('POOL-86: a manager that dies between the namespace and its policies leaves no cluster that is open: the next one closes it', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const seen = Promise.withResolvers<string>()
  proxy.decide(({ method, path }) => {
    const [, place] = path.match(/\/namespaces\/([^/]+)\/networkpolicies/) ?? []
    if (method !== 'POST' || place === undefined) return 'pass'
    seen.resolve(place)
    return 'drop'
  })
  await the.customize(['a'])
  const manager = await the.start({ server: proxy.server })
  await the.pool('pool', { inventory: ['a'] })
  const place = await seen.promise
  await manager.stop()
  expect(await the.clusters('pool')).toEqual([])
  expect(await policiesIn(the, place)).toEqual([])
  expect(await the.api.get(Namespace, place)).toBeDefined()
  await the.start()
  expect(await namespaceOfCluster(the, 'pool')).toBe(place)
  expect(await policiesIn(the, place)).toHaveLength(2)
})

test('POOL-86: a namespace whose policies are refused gets no cluster, and the pool makes no second one for it', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const places = new Set<string>()
  let isRefused = true
  proxy.decide(({ method, path }) => {
    const [, place] = path.match(/\/namespaces\/([^/]+)\/networkpolicies/) ?? []
    if (method !== 'POST' || place === undefined) return 'pass'
    places.add(place)
    return isRefused ? { status: 403 } : 'pass'
  })
  await the.start({ server: proxy.server })
  await the.pool('pool')
  await eventually(() =>
    expect(proxy.requests().filter(({ path }) => path.includes('/networkpolicies')).length).toBeGreaterThan(1),
  )
  expect(await the.clusters('pool')).toEqual([])
  isRefused = false
  const place = await namespaceOfCluster(the, 'pool')
  expect([...places]).toEqual([place])
  expect(await policiesIn(the, place)).toHaveLength(2)
})

test('POOL-86: a policy that is there already stays as it is', async () => {
  await using the = await poolWorld()
  await using proxy = await the.plane.proxy()
  const own = { podSelector: {}, policyTypes: ['Egress'] }
  const seen = Promise.withResolvers<string>()
  let isHeld = true
  proxy.decide(({ method, path }) => {
    const [, place] = path.match(/\/namespaces\/([^/]+)\/networkpolicies/) ?? []
    if (method !== 'POST' || place === undefined || !isHeld) return 'pass'
    seen.resolve(place)
    return 'drop'
  })
  await the.start({ server: proxy.server })
  await the.pool('pool')
  const place = await seen.promise
  await the.api.create(NetworkPolicy, { metadata: { name: 'muster-jobs', namespace: place }, spec: own })
  isHeld = false
  await namespaceOfCluster(the, 'pool')
  expect((await the.api.get(NetworkPolicy, 'muster-jobs', place))?.spec).toEqual(own)
  expect(await policiesIn(the, place)).toHaveLength(2)
})

test('POOL-86: where an administrator has pods open, pools write no policy', async () => {
  await using the = await poolWorld()
  await the.start({ podNetwork: 'open' })
  await the.pool('pool')
  expect(await policiesIn(the, await namespaceOfCluster(the, 'pool'))).toEqual([])
})
