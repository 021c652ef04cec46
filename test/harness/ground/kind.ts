import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { checkoutInfo } from '#cmd/build-info.ts'
import { ARGOCD } from '#hack/argocd/binaries.ts'
import { inCluster } from '#hack/argocd/in-cluster.ts'
import { argoManifests } from '#hack/argocd/source.ts'
import type { Cluster } from '#hack/cluster/cluster.ts'
import { privateKindMissing, startPrivateKind } from '#hack/cluster/kind/private.ts'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { imageOf } from '#hack/image/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { ensureImages, imagesMissing } from '#hack/image/local/images.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { ARGO_NAMESPACE, applicationsOf } from '../argocd.ts'
import type { Reach } from '../connection.ts'
import { type ControlPlane, reach } from '../controlplane.ts'
import type { GroundProvider } from './ground.ts'
import {
  DATABASE_NAMESPACE,
  DEVICE_NAMESPACE,
  databaseUrl,
  devicePods,
  GIT_FOLDER,
  GIT_NAMESPACE,
  GIT_URL,
  gitServer,
  postgresServer,
} from './kind/pods.ts'
import { withManagers, withVolumes } from './managers.ts'

const NAMESPACE = 'hyperfleet-system'

/** As the manifests name the API to others. */
const API_URL = `http://hyperfleet-api.${NAMESPACE}.svc.cluster.local:8080`

const NATS_URL = `nats://nats.${NAMESPACE}.svc.cluster.local:4222`

/** How long pods may take to start, all of them at once on a busy machine. */
const PATIENCE = '--timeout=600s'

/** A cluster of kind in which everything is a pod, as it is delivered: Argo CD by its own manifests, Git, PostgreSQL, devices, and the suite. */
export const kindGround: GroundProvider = {
  missing: () => Promise.resolve(privateKindMissing() ?? imagesMissing()),
  start: async (git, { resync, overlay, application }) => {
    await using stack = new AsyncDisposableStack()
    const archives = await ensureImages(console.error)
    const kind = await startPrivateKind({ say: console.error })
    stack.defer(() => kind.stop())
    for (const archive of archives) await kind.load(archive)
    const cluster = reach(await adminOf(kind))
    const binaries = await ensureBinaries(ARGOCD, console.error)
    await installArgo(cluster, resync)
    await applyAll(kind, [...gitServer(), ...(await databaseOf(kind))])
    await rolledOut(cluster, GIT_NAMESPACE)
    await rolledOut(cluster, DATABASE_NAMESPACE)
    await git.mirror(await remoteOf(kind))
    const path = join(overlay, 'kustomization.yaml')
    await git.commit('Data in volumes', { [path]: withVolumes(await git.read(path)) })
    const own = stack.move()
    return {
      cluster,
      repoURL: GIT_URL,
      argo: { application: applicationsOf(cluster), binaries },
      suite: async ({ managers = [], machines = {} }) => {
        const files = Object.entries(withManagers(await git.read(path), managers))
        const commit = await git.commit(
          'Managers as pods',
          Object.fromEntries(files.map(([name, content]) => [join(overlay, name), content])),
        )
        for (const condition of settled(application, commit)) await cluster.kubectl('wait', ...condition, PATIENCE)
        const image = imageOf(checkoutInfo(CHECKOUT))
        await applyAll(kind, devicePods({ image, natsUrl: NATS_URL, devices: machines }))
        await rolledOut(cluster, DEVICE_NAMESPACE)
        return {
          apiUrl: API_URL,
          apply: async (folder) => {
            await cluster.kubectl('apply', '--server-side', '--kustomize', join(git.folder, 'kustomize', folder))
          },
        }
      },
      [Symbol.asyncDispose]: () => own.disposeAsync(),
    }
  },
}

const applyAll = async ({ kubectl }: Cluster, manifests: readonly object[]): Promise<void> => {
  const input = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n')
  await kubectl(['apply', '--server-side', '-f', '-'], { input })
}

/** Waits until every Deployment and StatefulSet of a namespace has its pods. */
const rolledOut = async (cluster: Pick<ControlPlane, 'kubectl'>, namespace: string): Promise<void> => {
  const where = `--namespace=${namespace}`
  const parts = await cluster.kubectl('get', 'deployments,statefulsets', where, '--output=name')
  for (const part of parts.trim().split('\n').filter(Boolean))
    await cluster.kubectl('rollout', 'status', part, where, PATIENCE)
}

/** PostgreSQL, and the Secret by which the API finds it. */
const databaseOf = async (kind: Cluster): Promise<readonly object[]> => {
  const password = randomBytes(12).toString('hex')
  await kind.kubectl(['create', 'namespace', NAMESPACE])
  const metadata = { name: 'hyperfleet-api-database', namespace: NAMESPACE }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { url: databaseUrl(password) } }
  return [secret, ...postgresServer(password)]
}

/** How commits come into the cluster: as people push them, though by way of `kubectl exec`, so that Git needs no password. */
const remoteOf = async ({ kubeconfig }: Cluster): Promise<string> => {
  const kubectl = join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl')
  const exec = `exec --stdin --quiet --namespace=${GIT_NAMESPACE} deployment/git`
  return `ext::${kubectl} --kubeconfig=${kubeconfig} ${exec} -- git %s ${GIT_FOLDER}`
}

/** What `kubectl wait` must see, in this order, until the pods that a commit declares are there. */
export const settled = (application: string, commit: string): readonly (readonly string[])[] => {
  const of = [`applications.argoproj.io/${application}`, `--namespace=${ARGO_NAMESPACE}`]
  return [
    [...of, `--for=jsonpath={.status.sync.revision}=${commit}`],
    [...of, '--for=jsonpath={.status.sync.status}=Synced'],
    [...of, '--for=jsonpath={.status.health.status}=Healthy'],
  ]
}

/** Installs Argo CD and waits until each of its parts runs. */
const installArgo = async (cluster: Pick<ControlPlane, 'kubectl'>, resync: number): Promise<void> => {
  await cluster.kubectl('create', 'namespace', ARGO_NAMESPACE)
  await cluster.kubectl('apply', '--server-side', '--kustomize', await argoFolder(resync))
  await rolledOut(cluster, ARGO_NAMESPACE)
}

/** A kustomization of Argo CD's own manifests, which come with its Go module. */
export const argoFolder = async (resync: number): Promise<string> => {
  const folder = join(await temporaryFolder('argocd'), 'installation')
  await mkdir(folder)
  const manifests = relative(folder, join(await argoManifests(), 'core-install'))
  await writeFile(join(folder, 'kustomization.yaml'), inCluster({ manifests, namespace: ARGO_NAMESPACE, resync }))
  return folder
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
