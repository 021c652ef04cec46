/** Starts the service as a process: for `npm run up` and tests. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { accepts } from '../process/ports.ts'
import type { Project } from './clusters.ts'

export interface ServiceStart {
  /** Of its state. */
  readonly folder: string
  /** Of its log and its list of projects, which are not the state's. */
  readonly logs: string
  readonly port: number
  /** The folder of etcd, kube-apiserver and kube-controller-manager; they are built when undefined. */
  readonly binaries?: string | undefined
  readonly projects: readonly Project[]
  /** Clusters and folder end with the service. */
  readonly temporary: boolean
}

export interface LocalClustersService {
  /** http://127.0.0.1:port */
  readonly url: string
  readonly child: Child
}

/** Resolves when it serves. @throws ProcessError */
export const startLocalClusters = async (options: ServiceStart): Promise<LocalClustersService> => {
  const { folder, logs, port, binaries, projects, temporary } = options
  const list = join(logs, 'local-clusters.projects.json')
  await writeFile(list, JSON.stringify(projects), { mode: 0o600 })
  const child = await startChild({
    name: 'local-clusters',
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      join(import.meta.dirname, 'cli.ts'),
      `--folder=${folder}`,
      `--projects=${list}`,
      `--port=${port}`,
      ...(binaries === undefined ? [] : [`--binaries=${binaries}`]),
      ...(temporary ? ['--temporary'] : []),
    ],
    logFile: join(logs, 'local-clusters.log'),
    guarded: true,
  })
  await untilReady(child, () => accepts(port))
  return { url: `http://127.0.0.1:${port}`, child }
}
