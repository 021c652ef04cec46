/** A kind cluster for tests that has every image of the suite, and how tests work on it. */

import type { Cluster } from '#hack/cluster/cluster.ts'
import { privateKindMissing, startPrivateKind } from '#hack/cluster/kind/private.ts'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { ensureImages, ensureSuiteImages, imagesMissing } from '#hack/image/local/images.ts'
import { enforcePolicies } from '#hack/kindnode/calico.ts'
import type { Reach } from '#test/harness/connection.ts'
import { type ControlPlane, reach } from '#test/harness/controlplane.ts'

/** How long pods may take to start, all of them at once on a busy machine: kubectl's flag. */
export const PATIENCE = '--timeout=600s'

export interface KindNodes extends AsyncDisposable {
  /** All but faults of the API server: those are for the local control plane. */
  readonly cluster: Omit<ControlPlane, 'proxy'>
  apply(manifests: readonly object[]): Promise<void>
  /** Waits until every Deployment and StatefulSet of a namespace has its pods. */
  rolledOut(namespace: string): Promise<void>
}

/** Why there can be none here, and what to do; undefined when there can. */
export const kindClusterMissing = (): string | undefined => privateKindMissing() ?? imagesMissing()

export interface KindOptions {
  /** Nothing but the images of the suite itself: no PostgreSQL, Argo CD or Git. */
  readonly suiteAlone?: boolean
  /** Archives of further images. */
  readonly archives?: readonly string[]
  /** NetworkPolicies are enforced. */
  readonly enforcing?: boolean
}

/** Starts one. Stop it, or take it with `await using`. */
export const kindCluster = async (options: KindOptions = {}): Promise<KindNodes> => {
  await using stack = new AsyncDisposableStack()
  const { suiteAlone = false, archives = [], enforcing = false } = options
  const images = await (suiteAlone ? ensureSuiteImages : ensureImages)(console.error)
  const kind = await startPrivateKind({ say: console.error })
  stack.defer(() => kind.stop())
  for (const archive of [...images, ...archives]) await kind.load(archive)
  if (enforcing) await enforcePolicies(kind, console.error)
  const cluster = reach(await adminOf(kind))
  const own = stack.move()
  return {
    cluster,
    apply: async (manifests) => {
      const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
      await kind.kubectl(['apply', '--server-side', '-f', '-'], { input })
    },
    rolledOut: async (namespace) => {
      const where = `--namespace=${namespace}`
      const parts = await cluster.kubectl('get', 'deployments,statefulsets', where, '--output=name')
      for (const part of parts.split('\n').filter(Boolean))
        await cluster.kubectl('rollout', 'status', part, where, PATIENCE)
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

/** An administrator with a token, where a cluster has only one with a certificate. */
const adminOf = async ({ kubeconfig, kubectl }: Cluster): Promise<Reach> => {
  const account = ['muster-tests', '--namespace=kube-system']
  await kubectl(['create', 'serviceaccount', ...account])
  await kubectl([
    'create',
    'clusterrolebinding',
    'muster-tests',
    '--clusterrole=cluster-admin',
    '--serviceaccount=kube-system:muster-tests',
  ])
  const token = (await kubectl(['create', 'token', ...account, '--duration=24h'])).trim()
  const [entry] = (await readKubeconfig(kubeconfig)).clusters
  if (entry === undefined) throw new Error(`${kubeconfig} has no cluster`)
  const { server, 'certificate-authority-data': authority = '' } = entry.cluster
  const certificateAuthority = Buffer.from(authority, 'base64').toString('utf8')
  return {
    server,
    kubeconfig,
    certificateAuthority,
    token,
    binaries: await ensureBinaries(CONTROL_PLANE, console.error),
  }
}
