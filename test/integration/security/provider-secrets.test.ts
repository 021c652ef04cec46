/**
 * Attacks with the account of a provider, as the author of its task has it, on Secrets that are none of its business: on a real API server with
 * the default install, the delivered providers and the example, and pools at work as their delivered account. docs/security.md.
 */
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { PROVIDER_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '#cmd/security/model.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { ProcessError } from '#hack/process/errors.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { type OwnControlPlane, runOperator, startControlPlane } from '#test/harness/index.ts'
import { startInstaller } from '../clusterpool/installer.ts'

interface Provider {
  /** The value of the clusters' label. */
  readonly label: string
  readonly folder: string
  readonly account: string
}

const PROVIDERS: readonly Provider[] = [
  { label: 'local', folder: 'kustomize/providers/local', account: 'cluster-local' },
  { label: 'hosted', folder: 'kustomize/providers/hosted', account: 'cluster-hosted' },
  { label: 'cluster-api', folder: 'kustomize/providers/cluster-api', account: 'cluster-api' },
  { label: 'acme', folder: 'examples/provider', account: 'cluster-acme' },
]
/** As it may be in any namespace: no name that only one provider has. */
const SECRET = 'prize'
const ANOTHER = 'another-team'

const PATIENCE = { timeout: 60_000, interval: 100 }

let cluster: OwnControlPlane
let api: Api
const running = new AsyncDisposableStack()
/** Where the cluster of each provider is, by its label. */
const places = new Map<string, string>()

beforeAll(async () => {
  cluster = running.use(await startControlPlane({ crds: false }))
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
  for (const { folder } of PROVIDERS) await cluster.kubectl('apply', '-k', folder)
  const transport = await cluster.transport()
  running.defer(() => transport.close())
  api = createApi(transport)
  const installer = await startInstaller(transport, NAMESPACE)
  running.defer(() => installer.stop())
  const kubeconfig = await cluster.kubeconfigFor('hyperfleet-clusterpool', NAMESPACE)
  const controllers = [clusterPool({ clock: systemClock, registry: new Registry() })]
  const manager = await runOperator(kubeconfig, { controllers, namespaces: [NAMESPACE], log: silent })
  running.defer(() => manager.stop())
  for (const { label } of PROVIDERS)
    await api.create(ClusterPool, {
      metadata: { name: label, namespace: NAMESPACE },
      spec: {
        platform: { none: {} },
        baseDomain: 'example.com',
        imageSetRef: { name: 'kubernetes-v1.36' },
        size: 1,
        labels: { [PROVIDER_LABEL]: label },
      },
    })
  for (const { label } of PROVIDERS) places.set(label, await placeOf(label))
  await cluster.kubectl('create', 'namespace', ANOTHER)
  for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...places.values()])
    await cluster.kubectl('create', 'secret', 'generic', SECRET, '--from-literal=of=another', '-n', namespace)
}, 240_000)

afterAll(() => running.disposeAsync())

const placeOf = (label: string): Promise<string> =>
  vi.waitFor(async () => {
    const [found] = await Array.fromAsync(api.list(ClusterDeployment, { labelSelector: `${PROVIDER_LABEL}=${label}` }))
    if (found?.metadata.namespace === undefined) throw new Error(`there is no cluster of ${label}`)
    return found.metadata.namespace
  }, PATIENCE)

/** By a real request: what the API server says, for the account of a provider. */
const reads = async ({ account }: Provider, namespace: string): Promise<boolean> => {
  const as = `system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:${account}`
  try {
    await cluster.kubectl('get', 'secret', SECRET, '-n', namespace, `--as=${as}`)
    return true
  } catch (error) {
    if (!(error instanceof ProcessError) || !error.message.includes('Forbidden')) throw error
    return false
  }
}

describe.for(PROVIDERS)('CLUSTER-64: the account of $label', (provider) => {
  test('attack: reads, by its name, a Secret of Muster, of the accounts of tasks, of another team, or beside another provider’s cluster', async () => {
    const elsewhere = [...places].filter(([label]) => label !== provider.label).map(([, place]) => place)
    for (const namespace of [NAMESPACE, TASK_ACCOUNTS_NAMESPACE, ANOTHER, ...elsewhere])
      expect([namespace, await reads(provider, namespace)]).toEqual([namespace, false])
  })

  test('reads and writes beside its own cluster', async () => {
    const place = places.get(provider.label) ?? ''
    await vi.waitFor(async () => expect(await reads(provider, place)).toBe(true), PATIENCE)
    const as = `--as=system:serviceaccount:${TASK_ACCOUNTS_NAMESPACE}:${provider.account}`
    const name = 'x-admin-kubeconfig'
    await cluster.kubectl('create', 'secret', 'generic', name, '-n', place, as)
    await cluster.kubectl('delete', 'secret', name, '-n', place, as)
  })
})
