import { expect, onTestFinished, test, vi } from 'vitest'
import { candidates, type Facts, startCluster } from './choose.ts'

const order = (facts: Partial<Facts>) =>
  candidates({ request: {}, forced: undefined, assets: undefined, built: false, ...facts }).map(
    ({ provider, because }) => `${provider.title}, ${because}`,
  )

test('on a fresh machine Docker comes before minutes of building', () => {
  expect(order({})).toMatchInlineSnapshot(`
    [
      "the cluster "dev" of "npm run cluster", as it runs already",
      "kind in Docker, as Docker is here",
      "a local control plane, built with Go",
    ]
  `)
})

test('binaries that are built come before Docker', () => {
  expect(order({ built: true })).toMatchInlineSnapshot(`
    [
      "the cluster "dev" of "npm run cluster", as it runs already",
      "a local control plane, as its binaries are in the cache",
      "kind in Docker, as Docker is here",
    ]
  `)
})

test('KUBEBUILDER_ASSETS come first', () => {
  expect(order({ assets: '/envtest', built: true })[0]).toMatchInlineSnapshot(
    `"the control plane in KUBEBUILDER_ASSETS, as KUBEBUILDER_ASSETS is set"`,
  )
})

test.for([
  ['--kubeconfig', { request: { kubeconfig: '/k' }, forced: 'kind', assets: '/envtest' }, 'an existing cluster'],
  ['--context', { request: { context: 'prod' } }, 'an existing cluster'],
  ['MUSTER_CLUSTER=kind', { forced: 'kind', assets: '/envtest' }, 'kind in Docker'],
  ['MUSTER_CLUSTER=local', { forced: 'local' }, 'a local control plane'],
  ['MUSTER_CLUSTER=my-context', { forced: 'my-context', built: true }, 'an existing cluster'],
] as const)('%s leaves no other choice', ([, facts, title]) => {
  const chosen = order(facts)
  expect(chosen).toHaveLength(1)
  expect(chosen[0]).toContain(title)
})

test('MUSTER_CLUSTER=<context> asks for that context', () => {
  const [only] = candidates({ request: {}, forced: 'my-context', assets: undefined, built: true })
  expect(only?.request).toEqual({ context: 'my-context' })
})

test('a slip in MUSTER_CLUSTER is told as that, and not as a kubeconfig that is missing alone', async () => {
  vi.stubEnv('MUSTER_CLUSTER', 'lokal')
  vi.stubEnv('KUBECONFIG', '/nonexistent')
  onTestFinished(() => void vi.unstubAllEnvs())
  const start = { request: {}, name: 'none', say: () => {} } as unknown as Parameters<typeof startCluster>[0]
  await expect(startCluster(start)).rejects.toThrow(
    'an existing cluster, as MUSTER_CLUSTER=lokal names its context: There is no kubeconfig /nonexistent',
  )
})
