/**
 * Cluster API on a control plane of a test: its real managers as processes, their kinds and their webhooks.
 *
 *   Cluster ─► core ─► machines ─► control-plane, bootstrap ─► dev: API servers in memory, which answer on ports of this machine
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump, loadAll } from 'js-yaml'
import { CLUSTER_API, type ClusterApiManager } from '#hack/cluster-api/binaries.ts'
import { clusterApiManifests } from '#hack/cluster-api/manifests.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { startChild, untilReady } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { goSettings } from '#hack/process/go-settings.ts'
import { freePort } from '#hack/process/ports.ts'
import { certificateFor } from './certificates.ts'
import type { ControlPlane } from './controlplane.ts'

const MANAGERS = Object.keys(CLUSTER_API.packages) as ClusterApiManager[]

/** Classes of clusters are behind a gate; those that come with Cluster API know no other. */
const GATES: Readonly<Record<ClusterApiManager, readonly string[]>> = {
  core: ['--feature-gates=ClusterTopology=true'],
  'control-plane': ['--feature-gates=ClusterTopology=true'],
  bootstrap: [],
  dev: [],
}

/** What it is installed on. */
type Plane = Pick<ControlPlane, 'kubeconfig' | 'kubectl'>

export interface ClusterApi extends AsyncDisposable {
  logFile(manager: ClusterApiManager): string
}

/** @throws ProcessError, SetupError */
export const startClusterApi = async (plane: Plane): Promise<ClusterApi> => {
  const binaries = await ensureBinaries(CLUSTER_API, console.error)
  await using stack = new AsyncDisposableStack()
  const folder = await temporaryFolder('cluster-api')
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const certificates = join(folder, 'certificates')
  await mkdir(certificates)
  const { cert, key } = await certificateFor('cluster-api')
  await writeFile(join(certificates, 'tls.crt'), cert)
  await writeFile(join(certificates, 'tls.key'), key, { mode: 0o600 })
  const logFile = (manager: ClusterApiManager) => join(folder, `${manager}.log`)

  const places = await Promise.all(
    MANAGERS.map(async (manager) => {
      const port = await freePort()
      return {
        manager,
        port,
        parts: await partsOf(plane, manager, { url: `https://127.0.0.1:${port}`, certificate: cert }),
      }
    }),
  )
  const start = async ({ manager, port }: (typeof places)[number]): Promise<void> => {
    const health = await freePort()
    const own =
      manager === 'dev'
        ? [`--cluster-port=${await freePort()}`, `--debug-port=${await freePort()}`]
        : ['--diagnostics-address=0', '--insecure-diagnostics=true']
    const child = await startChild({
      name: `Cluster API's ${manager}`,
      command: join(binaries, manager),
      args: [
        `--webhook-port=${port}`,
        `--webhook-cert-dir=${certificates}`,
        `--health-addr=127.0.0.1:${health}`,
        ...own,
        ...GATES[manager],
      ],
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: plane.kubeconfig, POD_IP: '127.0.0.1', ...goSettings() },
      logFile: logFile(manager),
      guarded: true,
    })
    stack.defer(async () => void (await child.kill()))
    await untilReady(child, () => answers(`http://127.0.0.1:${health}/readyz`))
  }
  const apply = async (manifests: readonly Installed[]): Promise<void> => {
    const file = join(folder, 'manifests.yaml')
    await writeFile(file, manifests.map((one) => dump(one)).join('---\n'))
    await plane.kubectl('apply', '--server-side', '-f', file)
  }
  // Each manager watches kinds of the others. Its webhooks are asked once it answers.
  const kinds = places.flatMap(({ parts }) => parts.kinds)
  await apply(kinds)
  await plane.kubectl(
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
    'crd',
    ...kinds.map(({ metadata }) => metadata.name),
  )
  await Promise.all(places.map(start))
  await apply(places.flatMap(({ parts }) => parts.webhooks))
  const running = stack.move()
  return { logFile, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

interface ClientConfig {
  readonly url?: string
  readonly service?: { readonly path: string }
}

interface Installed {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly webhooks?: readonly { readonly clientConfig: ClientConfig }[]
  readonly spec?: { readonly conversion?: { readonly webhook: { readonly clientConfig: ClientConfig } } }
}

const CONFIGURED = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']

/** What its release installs, but for what runs it in a pod: its kinds and its webhooks, which are asked at this address. */
const partsOf = async (
  plane: Plane,
  manager: ClusterApiManager,
  { url, certificate }: { readonly url: string; readonly certificate: string },
): Promise<{ readonly kinds: readonly Installed[]; readonly webhooks: readonly Installed[] }> => {
  const manifests = loadAll(await plane.kubectl('kustomize', await clusterApiManifests(manager))) as Installed[]
  const here = ({ service }: ClientConfig) => ({
    url: `${url}${service?.path}`,
    caBundle: Buffer.from(certificate).toString('base64'),
  })
  const hooks = manifests.filter(({ kind }) => CONFIGURED.includes(kind))
  return {
    kinds: manifests.filter(({ kind }) => kind === 'CustomResourceDefinition').map((crd) => convertedBy(crd, here)),
    webhooks: hooks.map((one) => ({
      ...one,
      webhooks: (one.webhooks ?? []).map((hook) => ({ ...hook, clientConfig: here(hook.clientConfig) })),
    })),
  }
}

const convertedBy = (crd: Installed, here: (config: ClientConfig) => object): Installed => {
  const conversion = crd.spec?.conversion
  if (conversion === undefined) return crd
  const webhook = { ...conversion.webhook, clientConfig: here(conversion.webhook.clientConfig) }
  return { ...crd, spec: { ...crd.spec, conversion: { ...conversion, webhook } } }
}
