import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Child, startChild, untilReady } from '../../process/child.ts'
import { freePort } from '../../process/ports.ts'
import { kubeconfig, writeKubeconfig } from '../kubeconfig.ts'
import { commandLine, type Ports } from './commandline.ts'
import { ensureCredentials, readToken } from './credentials.ts'
import { type Layout, layoutOf, PARTS, type Part, type User, users } from './layout.ts'
import { isReady } from './readiness.ts'

export interface ControlPlaneOptions {
  /** Where the binaries are. */
  readonly binaries: string
  /** Data, credentials and logs; a folder that was used before continues with what it has. */
  readonly folder: string
  /** Which processes; etcd and kube-apiserver must be among them. All when undefined. */
  readonly parts?: readonly Part[]
  /** False for one that lives on after this process. */
  readonly guarded: boolean
  /** The API server keeps a log of what ServiceAccounts ask it for: audit-policy.yaml. */
  readonly audited?: boolean
  /** Free ones when undefined. */
  readonly ports?: Ports
  /** Gives up: the start rejects, and what was started is stopped. */
  readonly signal?: AbortSignal | undefined
  /** Called for each process as soon as it runs. */
  onStarted?(part: Part, pid: number): Promise<void>
}

/** Real Kubernetes processes on this machine, each of which can be killed and started again. */
export interface LocalControlPlane {
  readonly layout: Layout
  readonly server: string
  readonly ports: Ports
  /** The admin's kubeconfig file. */
  readonly kubeconfig: string
  /** The context in it. */
  readonly context: string
  /** SIGKILL. */
  kill(part: Part): Promise<void>
  /** Starts a part that was killed, on the same port and data, and waits until it serves. */
  restart(part: Part): Promise<void>
  /** In the reverse order of the start. Data and logs stay. */
  stop(): Promise<void>
}

/** Of kubeconfigs of local control planes. */
export const LOCAL_CONTEXT = 'muster-local'

/**
 * Starts a control plane and waits until its API server is ready.
 * @throws ProcessError when a part ends or is not ready in time, with the last lines of its log
 */
export const startLocalControlPlane = async (options: ControlPlaneOptions): Promise<LocalControlPlane> => {
  const layout = layoutOf(options.folder)
  const parts = PARTS.filter((part) => options.parts?.includes(part) ?? true)
  const ports = options.ports ?? { apiserver: await freePort(), kwok: await freePort() }
  const server = `https://127.0.0.1:${ports.apiserver}`
  const children = new Map<Part, Child>()
  await ensureCredentials(layout)

  const start = async (part: Part): Promise<void> => {
    const child = await startChild({
      name: part,
      command: join(options.binaries, part),
      args: commandLine(part, layout, ports, options.audited),
      cwd: layout.folder,
      logFile: layout.log(part),
      guarded: options.guarded,
    })
    children.set(part, child)
    await options.onStarted?.(part, child.pid)
    if (part === 'kube-apiserver') await untilServing(child)
  }

  const untilServing = async (child: Child): Promise<void> => {
    const token = await readToken(layout, 'admin')
    await untilReady(
      child,
      async () => {
        options.signal?.throwIfAborted()
        if (!existsSync(layout.certificate)) return false
        return isReady(server, { ca: await readFile(layout.certificate, 'utf8') }, token)
      },
      { timeout: 120_000 },
    )
  }

  const stop = async (): Promise<void> => {
    for (const part of parts.toReversed()) await children.get(part)?.stop()
  }

  try {
    for (const part of parts) {
      await start(part)
      if (part === 'kube-apiserver') await writeKubeconfigs(layout, server)
    }
  } catch (error) {
    await stop()
    throw error
  }

  return {
    layout,
    server,
    ports,
    kubeconfig: layout.kubeconfig('admin'),
    context: LOCAL_CONTEXT,
    kill: async (part) => {
      await children.get(part)?.kill()
    },
    restart: async (part) => {
      await children.get(part)?.kill()
      await start(part)
    },
    stop,
  }
}

const writeKubeconfigs = async (layout: Layout, server: string): Promise<void> => {
  const certificateAuthority = await readFile(layout.certificate)
  const write = async (user: User) => {
    const token = await readToken(layout, user)
    await writeKubeconfig(
      layout.kubeconfig(user),
      kubeconfig({ name: LOCAL_CONTEXT, server, certificateAuthority, token }),
    )
  }
  await Promise.all(users.map(write))
}
