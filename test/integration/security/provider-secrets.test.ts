/**
 * Attacks with the account of a provider, as the author of its task has it, on Secrets that are none of its business: on a real API server with
 * the default install, the delivered providers and the example, and pools at work as their delivered account. docs/security.md.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '#cmd/security/model.ts'
import { type PoolsAtWork, poolsAtWork } from '../providers/pools.ts'
import { PATIENCE } from '../providers/world.ts'

const PROVIDERS = [
  { label: 'local', folder: 'kustomize/providers/local', account: 'cluster-local' },
  { label: 'hosted', folder: 'kustomize/providers/hosted', account: 'cluster-hosted' },
  { label: 'cluster-api', folder: 'kustomize/providers/cluster-api', account: 'cluster-api' },
  { label: 'acme', folder: 'examples/provider', account: 'cluster-acme' },
] as const
const ANOTHER = 'another-team'

let pools: PoolsAtWork
/** Where the cluster of each provider is, by its label. */
const places = new Map<string, string>()

beforeAll(async () => {
  pools = await poolsAtWork(PROVIDERS.map(({ folder }) => folder))
  for (const { label } of PROVIDERS) for (const place of await pools.pool(label)) places.set(label, place)
  await pools.cluster.kubectl('create', 'namespace', ANOTHER)
  for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...places.values()])
    await pools.putSecret(namespace)
}, 240_000)

afterAll(() => pools?.[Symbol.asyncDispose]())

describe.for(PROVIDERS)('CLUSTER-64: the account of $label', ({ label, account }) => {
  test('attack: reads, by its name, a Secret of Muster, of the accounts of tasks, of another team, or beside another provider’s cluster', async () => {
    const reads = await pools.readerOf(account)
    const elsewhere = [...places].filter(([one]) => one !== label).map(([, place]) => place)
    for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...elsewhere])
      expect([namespace, await reads(namespace)]).toEqual([namespace, false])
  })

  test('reads and writes beside its own cluster', async () => {
    const reads = await pools.readerOf(account)
    const place = places.get(label) ?? ''
    await vi.waitFor(async () => expect(await reads(place)).toBe(true), PATIENCE)
    const as = `--as=system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:${account}`
    const name = 'x-admin-kubeconfig'
    await pools.cluster.kubectl('create', 'secret', 'generic', name, '-n', place, as)
    await pools.cluster.kubectl('delete', 'secret', name, '-n', place, as)
  })
})
