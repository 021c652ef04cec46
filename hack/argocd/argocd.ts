import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { goSettings } from '../process/go-settings.ts'
import { accepts, freePort } from '../process/ports.ts'

/** The parts of Argo CD that sync: no UI, no login, no notifications. */
const PARTS = ['argocd-repo-server', 'argocd-application-controller', 'argocd-applicationset-controller'] as const

export type ArgoPart = (typeof PARTS)[number]

export interface ArgoOptions {
  /** The folder with argocd and kustomize. */
  readonly binaries: string
  /** For logs, keys and checkouts. */
  readonly folder: string
  /** Path of the kubeconfig that they use; its cluster is both where Applications live and "in-cluster" to them. */
  readonly kubeconfig: string
  /** Where Applications and Argo CD's own ConfigMaps are. */
  readonly namespace: string
  /** host:port */
  readonly redis: string
  /** Seconds between two looks at Git. */
  readonly resync: number
}

export interface Argo {
  logFile(part: ArgoPart): string
  /** SIGKILL. */
  kill(part: ArgoPart): Promise<void>
  /** On the same ports. */
  restart(part: ArgoPart): Promise<void>
  /** Those that have ended by themselves, as they do when the API server is away while they start. */
  ended(): readonly ArgoPart[]
  stop(): Promise<void>
}

/**
 * Starts a real Argo CD as processes of this machine. Its CRDs and ConfigMaps must be in the cluster.
 * @throws ProcessError
 */
export const startArgo = async (options: ArgoOptions): Promise<Argo> => {
  const [repo = 0, repoMetrics = 0, metrics = 0, setMetrics = 0, setProbe = 0, setWebhook = 0] = await Promise.all(
    Array.from({ length: 6 }, freePort),
  )
  const { binaries, folder, kubeconfig, namespace, redis, resync } = options
  const cluster = [`--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`]
  const repoServer = `127.0.0.1:${repo}`
  const args: Readonly<Record<ArgoPart, readonly string[]>> = {
    'argocd-repo-server': [
      '--address=127.0.0.1',
      `--port=${repo}`,
      '--metrics-address=127.0.0.1',
      `--metrics-port=${repoMetrics}`,
      `--redis=${redis}`,
      '--disable-tls',
    ],
    'argocd-application-controller': [
      ...cluster,
      `--metrics-port=${metrics}`,
      `--redis=${redis}`,
      `--repo-server=${repoServer}`,
      '--repo-server-plaintext',
      `--app-resync=${resync}`,
      '--app-resync-jitter=0',
    ],
    'argocd-applicationset-controller': [
      ...cluster,
      `--metrics-addr=127.0.0.1:${setMetrics}`,
      `--probe-addr=127.0.0.1:${setProbe}`,
      `--webhook-addr=127.0.0.1:${setWebhook}`,
      `--argocd-repo-server=${repoServer}`,
      '--repo-server-plaintext',
    ],
  }
  const ports: Readonly<Record<ArgoPart, number>> = {
    'argocd-repo-server': repo,
    'argocd-application-controller': metrics,
    'argocd-applicationset-controller': setProbe,
  }
  const logFile = (part: ArgoPart) => join(folder, `${part}.log`)
  const checkouts = join(folder, 'tmp')
  await mkdir(checkouts, { recursive: true })
  const env = {
    PATH: `${binaries}:${process.env.PATH}`,
    HOME: folder,
    TMPDIR: checkouts,
    // controller-runtime reads it, the others have a flag.
    KUBECONFIG: kubeconfig,
    // Its own switch for a controller that runs outside of the cluster that it calls its own.
    ARGOCD_FAKE_IN_CLUSTER: 'true',
    ARGOCD_GPG_ENABLED: 'false',
    ARGOCD_GNUPGHOME: join(folder, 'gpg'),
    ARGOCD_TLS_DATA_PATH: join(folder, 'tls'),
    ARGOCD_SSH_DATA_PATH: join(folder, 'ssh'),
    ARGOCD_PLUGINSOCKFILEPATH: join(folder, 'plugins'),
    ARGOCD_SYNC_WAVE_DELAY: '0',
    ARGOCD_RECONCILIATION_TIMEOUT: `${resync}s`,
    ...goSettings(),
  }
  const children = new Map<ArgoPart, Child>()

  const start = async (part: ArgoPart): Promise<void> => {
    const child = await startChild({
      name: part,
      command: join(binaries, 'argocd'),
      args: [...args[part], '--loglevel=info'],
      cwd: folder,
      env: { ...env, ARGOCD_BINARY_NAME: part },
      logFile: logFile(part),
      guarded: true,
    })
    children.set(part, child)
    await untilReady(child, () => accepts(ports[part]))
  }
  const stop = async (): Promise<void> => {
    for (const part of PARTS.toReversed()) await children.get(part)?.stop()
  }

  try {
    for (const part of PARTS) await start(part)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    logFile,
    kill: async (part) => {
      await children.get(part)?.kill()
    },
    restart: async (part) => {
      await children.get(part)?.kill()
      await start(part)
    },
    ended: () => PARTS.filter((part) => children.get(part)?.exit() !== undefined),
    stop,
  }
}
