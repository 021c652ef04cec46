/** Pools at work as their delivered account, with the default install, for tests of what accounts of providers may do: on a control plane of its own. */
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { PROVIDER_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Secret } from '#apis/kubernetes.ts'
import { NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '#cmd/security/model.ts'
import { clusterPool } from '#controllers/clusterpool/index.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { ApiError, isForbidden } from '#operator/client/errors.ts'
import { loadTransport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { type OwnControlPlane, type RunningOperator, runOperator, startControlPlane } from '#test/harness/index.ts'
import { startInstaller } from '../clusterpool/installer.ts'
import { PATIENCE } from './world.ts'

/** A Secret of this name is in each namespace that is asked about: no name that only one provider has. */
const SECRET = 'prize'

export interface PoolsAtWork extends AsyncDisposable {
  readonly cluster: OwnControlPlane
  /** As admin. */
  readonly api: Api
  /** The pools' manager, which is at work at first. */
  readonly manager: { start(): Promise<void>; stop(): Promise<void> }
  /** Makes a pool of a provider. @returns the namespaces of its clusters, once they are there */
  pool(label: string, size?: number): Promise<readonly string[]>
  /** Puts a Secret there. */
  putSecret(namespace: string): Promise<void>
  /** By real requests with a token of the account: whether it may read that Secret. */
  readerOf(account: string): Promise<(namespace: string) => Promise<boolean>>
}

/** @param folders of providers that are there before the pools' manager */
export const poolsAtWork = async (folders: readonly string[]): Promise<PoolsAtWork> => {
  const running = new AsyncDisposableStack()
  const cluster = running.use(await startControlPlane({ crds: false }))
  await cluster.kubectl('apply', '--server-side', '-f', 'manifests/install.yaml')
  await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crds', '--all')
  for (const folder of folders) await cluster.kubectl('apply', '-k', folder)
  const transport = await cluster.transport()
  running.defer(() => transport.close())
  const api = createApi(transport)
  const installer = await startInstaller(transport, NAMESPACE)
  running.defer(() => installer.stop())
  const kubeconfig = await cluster.kubeconfigFor('hyperfleet-clusterpool', NAMESPACE)
  let working: RunningOperator | undefined
  const manager = {
    start: async () => {
      const controllers = [clusterPool({ clock: systemClock, registry: new Registry() })]
      working = await runOperator(kubeconfig, { controllers, namespaces: [NAMESPACE], log: silent })
    },
    stop: async () => {
      await working?.stop()
      working = undefined
    },
  }
  await manager.start()
  running.defer(() => manager.stop())

  const placesOf = async (label: string): Promise<readonly string[]> => {
    const found = await Array.fromAsync(api.list(ClusterDeployment, { labelSelector: `${PROVIDER_LABEL}=${label}` }))
    return found.map(({ metadata }) => metadata.namespace ?? '')
  }
  return {
    cluster,
    api,
    manager,
    pool: async (label, size = 1) => {
      await api.create(ClusterPool, {
        metadata: { name: label, namespace: NAMESPACE },
        spec: {
          platform: { none: {} },
          baseDomain: 'example.com',
          imageSetRef: { name: 'kubernetes-v1.36' },
          size,
          labels: { [PROVIDER_LABEL]: label },
        },
      })
      return vi.waitFor(async () => {
        const places = await placesOf(label)
        if (places.length < size) throw new Error(`of ${label} there are ${places.length} clusters`)
        return places
      }, PATIENCE)
    },
    putSecret: async (namespace) => {
      await cluster.kubectl('create', 'secret', 'generic', SECRET, '--from-literal=of=another', '-n', namespace)
    },
    readerOf: async (account) => {
      const path = await cluster.kubeconfigFor(account, TASK_ACCOUNTS_NAMESPACE)
      const own = await loadTransport({ kubeconfig: path })
      running.defer(() => own.close())
      const asAccount = createApi(own)
      return async (namespace) => {
        try {
          return (await asAccount.get(Secret, SECRET, namespace)) !== undefined
        } catch (error) {
          if (error instanceof ApiError && isForbidden(error)) return false
          throw error
        }
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
