import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { ARGOCD } from '#hack/argocd/binaries.ts'
import { inCluster } from '#hack/argocd/in-cluster.ts'
import { argoManifests } from '#hack/argocd/source.ts'
import type { Cluster } from '#hack/cluster/cluster.ts'
import { kindMissing, startKind } from '#hack/cluster/kind/provider.ts'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { deliver } from '#hack/image/deliver.ts'
import { startChild, untilReady } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { accepts, freePort } from '#hack/process/ports.ts'
import { ARGO_NAMESPACE, applicationsOf } from '../argocd.ts'
import type { Reach } from '../connection.ts'
import { type ControlPlane, reach } from '../controlplane.ts'
import { superviseAgent } from '../suite/processes.ts'
import type { GroundProvider } from './ground.ts'
import { withManagers } from './managers.ts'

const NAMESPACE = 'hyperfleet-system'

/** As the manifests name the API to others. */
const API_URL = `http://hyperfleet-api.${NAMESPACE}.svc.cluster.local:8080`

/** How long images of Argo CD and NATS may take to come. */
const PATIENCE = '--timeout=600s'

/** A cluster of kind in which everything runs as it is delivered: Argo CD by its own manifests, the suite as pods of our image. */
export const kindGround: GroundProvider = {
  missing: () => kindMissing(console.error),
  start: async (git, { resync, overlay, application }) => {
    await using stack = new AsyncDisposableStack()
    // Git's folder is for its owner alone; the repo-server is another user.
    await chmod(git.folder, 0o755)
    const kind = await startKind({ say: console.error }, [git.folder])
    stack.defer(() => kind.stop())
    await kind.load(await deliver(await temporaryFolder('image')))
    const cluster = reach(await adminOf(kind))
    const binaries = await ensureBinaries(ARGOCD, console.error)
    await installArgo(cluster, git.folder, resync)
    const own = stack.move()
    return {
      cluster,
      argo: { application: applicationsOf(cluster), binaries },
      suite: async ({ managers = [], machines = {} }) => {
        const text = await git.read(join(overlay, 'kustomization.yaml'))
        const files = Object.entries(withManagers(text, managers))
        const commit = await git.commit(
          'Managers as pods',
          Object.fromEntries(files.map(([path, content]) => [join(overlay, path), content])),
        )
        for (const condition of settled(application, commit)) await cluster.kubectl('wait', ...condition, PATIENCE)
        const scratch = await temporaryFolder('machines')
        const home = { cluster: kind, namespace: NAMESPACE, scratch, logs: scratch }
        const natsUrl = `nats://127.0.0.1:${await forwardNats(own, kind, scratch)}`
        for (const [device, labels] of Object.entries(machines))
          own.use(await superviseAgent({ ...home, natsUrl }, device, labels))
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

/** What `kubectl wait` must see, in this order, until the pods that a commit declares are there. */
export const settled = (application: string, commit: string): readonly (readonly string[])[] => {
  const of = [`applications.argoproj.io/${application}`, `--namespace=${ARGO_NAMESPACE}`]
  return [
    [...of, `--for=jsonpath={.status.sync.revision}=${commit}`],
    [...of, '--for=jsonpath={.status.sync.status}=Synced'],
    [...of, '--for=jsonpath={.status.health.status}=Healthy'],
  ]
}

/** Installs Argo CD and waits until each of its parts runs. @param repositories a folder that the node sees */
export const installArgo = async (
  cluster: Pick<ControlPlane, 'kubectl'>,
  repositories: string,
  resync: number,
): Promise<void> => {
  await cluster.kubectl('create', 'namespace', ARGO_NAMESPACE)
  await cluster.kubectl('apply', '--server-side', '--kustomize', await argoFolder(repositories, resync))
  const parts = await cluster.kubectl(
    'get',
    'deployments,statefulsets',
    `--namespace=${ARGO_NAMESPACE}`,
    '--output=name',
  )
  for (const part of parts.trim().split('\n'))
    await cluster.kubectl('rollout', 'status', part, `--namespace=${ARGO_NAMESPACE}`, PATIENCE)
}

/** A kustomization of Argo CD's own manifests, which come with its Go module. */
export const argoFolder = async (repositories: string, resync: number): Promise<string> => {
  const folder = join(await temporaryFolder('argocd'), 'installation')
  await mkdir(folder)
  const manifests = relative(folder, join(await argoManifests(), 'core-install'))
  const text = inCluster({ manifests, namespace: ARGO_NAMESPACE, repositories, resync })
  await writeFile(join(folder, 'kustomization.yaml'), text)
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

/** Machines are processes of this machine, like the real ones outside of the cluster. @returns the port of 127.0.0.1 */
const forwardNats = async (own: AsyncDisposableStack, { kubeconfig }: Cluster, folder: string): Promise<number> => {
  const port = await freePort()
  const child = await startChild({
    command: join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'),
    args: [`--kubeconfig=${kubeconfig}`, 'port-forward', `--namespace=${NAMESPACE}`, 'service/nats', `${port}:4222`],
    logFile: join(folder, 'port-forward.log'),
    guarded: true,
  })
  own.defer(async () => {
    await child.stop()
  })
  await untilReady(child, () => accepts(port))
  return port
}
