import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import { kubeconfig, writeKubeconfig } from '#hack/cluster/kubeconfig.ts'
import { startLocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import type { Part } from '#hack/cluster/local/layout.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { loadTransport, type Transport, type TransportOptions } from '#operator/client/transport.ts'
import { checkCalls } from './calls.ts'
import { type Connection, connectionOf, kubectlOf, type Reach, type Rest, rest } from './connection.ts'
import { type RequestProxy, requestProxy } from './request-proxy.ts'
import { beginWithCrds, servesCrds } from './template.ts'

/** A real API server to test on. */
export interface ControlPlane {
  /** https://127.0.0.1:port */
  readonly server: string
  /** Path of the admin's kubeconfig. */
  readonly kubeconfig: string
  /** The admin's plain REST calls. */
  readonly rest: Rest
  /** A proxy before it that can drop, lose, hold and answer single requests; clients use the proxy's kubeconfig. Stop it. */
  proxy(): Promise<RequestProxy>
  /** A new transport of the client under test, as admin. Close it. */
  transport(options?: TransportOptions): Promise<Transport>
  kubectl(...args: readonly string[]): Promise<string>
  /** Creates a namespace that no other test has, and gives its name. */
  namespace(prefix?: string): Promise<string>
  /**
   * The path of a kubeconfig that speaks as an existing ServiceAccount, with a token of the TokenRequest API.
   * @param server a proxy's, when it stands between
   */
  kubeconfigFor(serviceAccount: string, namespace: string, server?: string): Promise<string>
}

/** A control plane of one's own, whose parts can be killed. */
export interface OwnControlPlane extends ControlPlane, AsyncDisposable {
  /** SIGKILL. */
  kill(part: Part): Promise<void>
  /** On the same port and data; resolves when it serves again. */
  restart(part: Part): Promise<void>
  stop(): Promise<void>
}

/** What tests need without nodes: no scheduler and no kwok. */
const WITHOUT_NODES: readonly Part[] = ['etcd', 'kube-apiserver', 'kube-controller-manager']

/** The control plane that this run's globalSetup started; every test takes a namespace of its own on it. */
export const sharedControlPlane = (): Promise<ControlPlane> => Promise.resolve(connect(inject('controlPlane')))

/**
 * One that no other test uses. Stop it, or take it with `await using`.
 * @param options.crds false for one without the CRDs of manifests/crds: deleting them right after their creation can
 * take kube-apiserver minutes ("could not list instances: storage is (re)initializing")
 */
export const startControlPlane = async (
  options: { readonly parts?: readonly Part[]; readonly crds?: boolean } = {},
): Promise<OwnControlPlane> => {
  const { local, connection, stop } = await startAudited(options)
  return {
    ...connect(connection),
    kill: (part) => local.kill(part),
    restart: (part) => local.restart(part),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** One whose calls are checked when it is stopped. */
export const startAudited = async ({
  parts = WITHOUT_NODES,
  crds = true,
}: {
  readonly parts?: readonly Part[]
  readonly crds?: boolean
}) => {
  const binaries = await ensureBinaries(CONTROL_PLANE, console.error)
  const folder = await temporaryFolder('controlplane')
  if (crds) await beginWithCrds(folder, binaries)
  const local = await startLocalControlPlane({ binaries, folder, guarded: true, audited: true, parts })
  const connection = await connectionOf(local, binaries)
  if (crds) await servesCrds(connection)
  const stop = async (): Promise<void> => {
    // In order each part says goodbye to the next, which takes seconds. Nothing is read of it but the audit log, of which each line is
    // written before its answer is.
    for (const part of parts.toReversed()) await local.kill(part)
    await checkCalls(folder)
    await rm(folder, { recursive: true, force: true })
  }
  return { local, connection, stop }
}

const connect = (connection: Connection): ControlPlane => ({
  ...reach(connection),
  proxy: () => requestProxy(connection),
})

/** One that was there before. */
export const reach = (connection: Reach): Omit<ControlPlane, 'proxy'> => {
  const call = rest(connection)
  const run = kubectlOf(connection)
  return {
    server: connection.server,
    kubeconfig: connection.kubeconfig,
    rest: call,
    transport: (options) => loadTransport({ ...options, kubeconfig: connection.kubeconfig }),
    kubectl: (...args) => run(args),
    namespace: async (prefix = 'test') => {
      const name = `${prefix}-${randomBytes(4).toString('hex')}`
      await call('POST', '/api/v1/namespaces', { metadata: { name } })
      return name
    },
    kubeconfigFor: async (serviceAccount, namespace, server = connection.server) => {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`
      const { status } = await call<{ status: { token: string } }>('POST', path, { spec: { expirationSeconds: 3600 } })
      const file = join(await temporaryFolder('kubeconfig'), 'kubeconfig')
      const access = { ...connection, server, name: serviceAccount, namespace, token: status.token }
      await writeKubeconfig(file, kubeconfig(access))
      return file
    },
  }
}
