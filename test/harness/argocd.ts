import { mkdir, rm } from 'node:fs/promises'
import { type Argo, startArgo } from '#hack/argocd/argocd.ts'
import { ARGOCD } from '#hack/argocd/binaries.ts'
import { argoCrds } from '#hack/argocd/source.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { findRedis } from '#hack/redis/find.ts'
import { redisMissing } from '#hack/redis/missing.ts'
import { startRedis } from '#hack/redis/redis.ts'
import { RestError } from './connection.ts'
import type { ControlPlane } from './controlplane.ts'

export { redisMissing }

/** What Argo CD says of an Application. */
export interface ApplicationStatus {
  readonly sync?: {
    readonly status: string
    readonly revision?: string
    readonly comparedTo?: { readonly source?: { readonly path?: string } }
  }
  readonly health?: { readonly status: string; readonly message?: string }
  readonly operationState?: {
    readonly phase: string
    readonly message?: string
    readonly syncResult?: {
      readonly revision?: string
      readonly resources?: readonly {
        readonly kind: string
        readonly name: string
        readonly status?: string
        readonly hookPhase?: string
        readonly message?: string
      }[]
    }
  }
  readonly conditions?: readonly { readonly type: string; readonly message: string }[]
  readonly resources?: readonly {
    readonly kind: string
    readonly name: string
    readonly namespace?: string
    readonly status?: string
    readonly health?: { readonly status: string; readonly message?: string }
  }[]
}

/** A real Argo CD on a control plane of one's own. Stop it, or take it with `await using`. */
export interface ArgoOnCluster extends Argo, AsyncDisposable {
  /** Undefined when there is no Application of that name. */
  application(name: string): Promise<ApplicationStatus | undefined>
  /** The folder with argocd, whose command line the same program is, and kustomize. */
  readonly binaries: string
}

/** Argo CD's own name for where it lives; its parts find their ConfigMaps there. */
export const ARGO_NAMESPACE = 'argocd'

/**
 * Installs Argo CD's CRDs and what this folder of manifests configures (health, actions, the project), and starts its processes.
 * Skip the test with `redisMissing()` where there is no Redis.
 * @param resync seconds between two looks at Git
 */
export const startArgoOn = async (cluster: ControlPlane, { resync = 3 } = {}): Promise<ArgoOnCluster> => {
  const redisProgram = findRedis()
  if (redisProgram === undefined) throw new Error(redisMissing())
  const binaries = await ensureBinaries(ARGOCD, console.error)
  const folder = await temporaryFolder('argocd')
  await mkdir(folder, { recursive: true })
  await cluster.kubectl('apply', '--server-side', '--kustomize', await argoCrds())
  await cluster.kubectl('create', 'namespace', ARGO_NAMESPACE)
  await ownSettings(cluster)
  const redis = await startRedis(redisProgram, folder)
  const argo = await startArgo({
    binaries,
    folder,
    kubeconfig: cluster.kubeconfig,
    namespace: ARGO_NAMESPACE,
    redis: redis.address,
    resync,
  }).catch(async (error: unknown) => {
    await redis.stop()
    throw error
  })
  const stop = async () => {
    await argo.stop()
    await redis.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return {
    ...argo,
    stop,
    application: applicationsOf(cluster),
    binaries,
    [Symbol.asyncDispose]: stop,
  }
}

/** What makes the cluster that Argo CD runs in known to it, as an administrator does. @param environment of whose overlay it is */
export const clusterHere = (environment: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'cluster-here',
    namespace: ARGO_NAMESPACE,
    labels: { 'argocd.argoproj.io/secret-type': 'cluster', 'muster.dev/environment': environment },
  },
  stringData: { name: 'here', server: 'https://kubernetes.default.svc', config: '{}' },
})

/** Reads the Applications of a cluster. */
export const applicationsOf =
  ({ rest }: Pick<ControlPlane, 'rest'>): ArgoOnCluster['application'] =>
  async (name) => {
    try {
      const path = `/apis/argoproj.io/v1alpha1/namespaces/${ARGO_NAMESPACE}/applications/${name}`
      return (await rest<{ status?: ApplicationStatus }>('GET', path)).status ?? {}
    } catch (error) {
      if (error instanceof RestError && error.status === 404) return undefined
      throw error
    }
  }

/** What Argo CD's own installation has besides its programs, and its programs don't start without. */
const ownSettings = async (cluster: ControlPlane): Promise<void> => {
  const partOf = { 'app.kubernetes.io/part-of': 'argocd' }
  const path = `/api/v1/namespaces/${ARGO_NAMESPACE}`
  const metadata = (name: string) => ({ name, labels: partOf })
  for (const name of [
    'argocd-cm',
    'argocd-rbac-cm',
    'argocd-cmd-params-cm',
    'argocd-ssh-known-hosts-cm',
    'argocd-tls-certs-cm',
    'argocd-gpg-keys-cm',
  ]) {
    await cluster.rest('POST', `${path}/configmaps`, { metadata: metadata(name), data: {} })
  }
  await cluster.rest('POST', `${path}/secrets`, {
    metadata: metadata('argocd-secret'),
    data: { 'server.secretkey': 'bm90IHVzZWQ=' },
  })
}
