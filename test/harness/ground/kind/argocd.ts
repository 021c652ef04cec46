/** Argo CD in a kind cluster, with Git and a database beside it, each as pods. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { inCluster } from '#hack/argocd/in-cluster.ts'
import { argoManifests } from '#hack/argocd/source.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { ARGO_NAMESPACE } from '../../argocd.ts'
import type { ControlPlane } from '../../controlplane.ts'
import type { GitRepository } from '../../git.ts'
import { type KindNodes, type KindOptions, kindCluster } from './cluster.ts'
import { DATABASE_NAMESPACE, database, GIT_FOLDER, GIT_NAMESPACE, gitServer } from './pods.ts'

interface ArgoOptions extends Pick<KindOptions, 'archives'> {
  readonly resync: number
  readonly apiNamespace: string
}

/**
 * Starts one; from then on what is committed to this repository is in the cluster's, as `GIT_URL`. Stop it, or take it with `await using`.
 * @param resync seconds between two looks of Argo CD at Git @param apiNamespace where the API finds its database; it is made
 * @param archives of images besides those of the suite
 */
export const kindWithArgo = async (
  git: GitRepository,
  { resync, apiNamespace, ...images }: ArgoOptions,
): Promise<KindNodes> => {
  await using stack = new AsyncDisposableStack()
  const nodes = stack.use(await kindCluster(images))
  const { cluster } = nodes
  await installArgo(nodes, resync)
  await cluster.kubectl('create', 'namespace', apiNamespace)
  await nodes.apply([...gitServer(), ...(await database(apiNamespace))])
  await nodes.rolledOut(GIT_NAMESPACE)
  await nodes.rolledOut(DATABASE_NAMESPACE)
  await git.mirror(await remoteOf(cluster))
  const own = stack.move()
  return { ...nodes, [Symbol.asyncDispose]: () => own.disposeAsync() }
}

/** How commits come into the cluster: as people push them, though by way of `kubectl exec`, so that Git needs no password. */
const remoteOf = async ({ kubeconfig }: Pick<ControlPlane, 'kubeconfig'>): Promise<string> => {
  const kubectl = join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl')
  const exec = `exec --stdin --quiet --namespace=${GIT_NAMESPACE} deployment/git`
  return `ext::${kubectl} --kubeconfig=${kubeconfig} ${exec} -- git %s ${GIT_FOLDER}`
}

/** Installs Argo CD and waits until each of its parts runs. */
const installArgo = async ({ cluster, rolledOut }: KindNodes, resync: number): Promise<void> => {
  await cluster.kubectl('create', 'namespace', ARGO_NAMESPACE)
  await cluster.kubectl('apply', '--server-side', '--kustomize', await argoFolder(resync))
  await rolledOut(ARGO_NAMESPACE)
}

/** A kustomization of Argo CD's own manifests, which come with its Go module. */
export const argoFolder = async (resync: number): Promise<string> => {
  const folder = join(await temporaryFolder('argocd'), 'installation')
  await mkdir(folder)
  const manifests = relative(folder, join(await argoManifests(), 'core-install'))
  await writeFile(join(folder, 'kustomization.yaml'), inCluster({ manifests, namespace: ARGO_NAMESPACE, resync }))
  return folder
}
