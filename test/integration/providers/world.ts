/** What the tests of the provider `local` stand on: its service as a process, which can be killed, and the clusters that it gives. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { vi } from 'vitest'
import type { ClusterView } from '#hack/local-clusters/cluster.ts'
import { Etcd, prefixOf } from '#hack/local-clusters/etcd.ts'
import { type LocalClustersService, startLocalClusters } from '#hack/local-clusters/start.ts'
import { lastLines, signalGroup } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { guardGroup } from '#hack/process/reaper.ts'

/** Long enough for a busy machine to start an API server; nothing waits so long when all is well. */
export const PATIENCE = { timeout: 120_000, interval: 100 }

export const [TOKEN, OTHER_TOKEN] = ['a-token-of-the-test', 'a-token-of-another-project']
/** How many clusters the test's project may have. */
export const QUOTA = 2

export interface Answer<T> {
  readonly status: number
  readonly body: T
}

export interface ServiceWorld extends AsyncDisposable {
  readonly url: string
  call<T = ClusterView>(method: string, path: string, body?: object, token?: string): Promise<Answer<T>>
  /** Resolves when the cluster is in this state. */
  until(name: string, state: string): Promise<ClusterView>
  /** SIGKILL of the service, and of nothing else. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Numbers of the processes of a cluster. */
  processes(uid: string): readonly number[]
  /** How many files and keys there are of a cluster. */
  remains(uid: string): Promise<{ readonly files: number; readonly keys: number; readonly processes: number }>
  folderOf(uid: string): string
}

/** @param quota of the test's project */
export const serviceWorld = async (quota = QUOTA): Promise<ServiceWorld> => {
  const home = await temporaryFolder('local-clusters')
  const [folder, logs] = [join(home, 'state'), join(home, 'logs')]
  await mkdir(logs)
  const port = await freePort()
  const projects = [
    { project: 'test', token: TOKEN, clusters: quota },
    { project: 'other', token: OTHER_TOKEN, clusters: 1 },
  ]
  const etcd = new Etcd({ folder: join(folder, 'etcd'), binaries: '', guarded: false })
  let service: LocalClustersService

  const start = async () => {
    service = await startLocalClusters({ folder, logs, port, projects, temporary: false })
  }
  await start()

  const processes = (text: string): readonly number[] => {
    const found = processesWith(text)
    // They outlive the service; they must not outlive the test.
    for (const pid of found) guardGroup(pid)
    return found
  }

  const world: ServiceWorld = {
    url: `http://127.0.0.1:${port}`,
    async call<T>(method: string, path: string, body?: object, token = TOKEN): Promise<Answer<T>> {
      const answer = await fetch(`${world.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      processes(folder)
      return { status: answer.status, body: (await answer.json()) as T }
    },
    until: (name, state) =>
      vi.waitFor(async () => {
        const { body } = await world.call('GET', `/clusters/${name}`)
        if (body.state !== state) {
          const log = join(world.folderOf(body.uid), 'kube-apiserver.log')
          const words = existsSync(log) ? lastLines(log) : ''
          throw new Error(
            `${name} is ${JSON.stringify(body.status)}, not ${state}. Its API server said last:\n${words}`,
          )
        }
        return body
      }, PATIENCE),
    kill: async () => {
      await service.child.kill()
    },
    start,
    processes,
    folderOf: (uid) => join(folder, 'clusters', uid),
    remains: async (uid) => ({
      files: globSync(join(folder, 'clusters', uid, '**')).length,
      keys: await etcd.count(prefixOf(uid)),
      processes: processes(uid).length,
    }),
    async [Symbol.asyncDispose]() {
      await service.child.kill()
      for (const pid of processes(folder)) signalGroup(pid, 'SIGKILL')
      await etcd.close()
    },
  }
  return world
}

/** Those whose arguments have a text: of Linux. */
const processesWith = (text: string): readonly number[] =>
  globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    const pid = Number(file.split('/')[2])
    try {
      // Not the service itself, which is guarded by its start.
      const command = readFileSync(file, 'utf8')
      return command.includes(text) && !command.includes('cli.ts') ? [pid] : []
    } catch {
      // It has just ended.
      return []
    }
  })

/** A client with the kubeconfig of a cluster. @param kubeconfig base64 */
export const clientOf = (kubeconfig: string): CoreV1Api => {
  const config = new KubeConfig()
  config.loadFromString(Buffer.from(kubeconfig, 'base64').toString())
  return config.makeApiClient(CoreV1Api)
}

export const namespacesOf = async (kubeconfig: string): Promise<readonly string[]> => {
  const { items } = await clientOf(kubeconfig).listNamespace()
  return items.map(({ metadata }) => metadata?.name ?? '')
}
