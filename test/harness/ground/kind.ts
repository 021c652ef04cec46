import { join } from 'node:path'
import { checkoutInfo } from '#cmd/build-info.ts'
import { ARGOCD } from '#hack/argocd/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { imageOf } from '#hack/image/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { ARGO_NAMESPACE, applicationsOf } from '../argocd.ts'
import { kindWithArgo } from './kind/argocd.ts'
import { kindClusterMissing, PATIENCE } from './kind/cluster.ts'
import { DEVICE_NAMESPACE, declaredKeys, deviceKeys, devicePods, GIT_URL } from './kind/pods.ts'
import { withManagers, withVolumes } from './managers.ts'
import type { GroundProvider } from './provider.ts'

const NAMESPACE = 'hyperfleet-system'

/** As the manifests name the API to others. */
const API_URL = `https://hyperfleet-api.${NAMESPACE}.svc.cluster.local`

const NATS_URL = `tls://nats.${NAMESPACE}.svc.cluster.local:4222`

/** How `kubectl get` prints the certificates alone, and the keys. */
const CA_CERTIFICATES = '--output=jsonpath={.data.ca\\.crt}'
const PUBLIC_KEYS = '--output=jsonpath={.data.public\\.pem}'

/** A cluster of kind in which everything is a pod, as it is delivered: Argo CD by its own manifests, Git, PostgreSQL, devices, and the suite. */
export const kindGround: GroundProvider = {
  containersRun: true,
  missing: () => Promise.resolve(kindClusterMissing()),
  start: async (git, { resync, overlay, application }) => {
    await using stack = new AsyncDisposableStack()
    const nodes = stack.use(await kindWithArgo(git, { resync, apiNamespace: NAMESPACE }))
    const { cluster } = nodes
    const binaries = await ensureBinaries(ARGOCD, console.error)
    const path = join(overlay, 'kustomization.yaml')
    await git.commit('Data in volumes', { [path]: withVolumes(await git.read(path)) })
    const own = stack.move()
    return {
      cluster,
      repoURL: GIT_URL,
      argo: { application: applicationsOf(cluster), binaries },
      suite: async ({ managers = [], machines = {} }) => {
        const keys = deviceKeys(Object.keys(machines))
        // Long before the first of them knocks.
        await nodes.apply([declaredKeys(NAMESPACE, keys)])
        const files = Object.entries(withManagers(await git.read(path), managers))
        const commit = await git.commit(
          'Managers as pods',
          Object.fromEntries(files.map(([name, content]) => [join(overlay, name), content])),
        )
        for (const condition of settled(application, commit)) await cluster.kubectl('wait', ...condition, PATIENCE)
        const image = imageOf(checkoutInfo(CHECKOUT))
        const read = (name: string, output: string) =>
          cluster.kubectl('get', 'configmap', name, `--namespace=${NAMESPACE}`, output)
        const ca = await read('nats-ca', CA_CERTIFICATES)
        const publicKeys = await read('fleet-signing', PUBLIC_KEYS)
        await nodes.apply(devicePods({ image, nats: { url: NATS_URL, ca, keys }, publicKeys, devices: machines }))
        await nodes.rolledOut(DEVICE_NAMESPACE)
        return { apiUrl: API_URL }
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
