/** The provider `local`, where `npm run up` starts its cluster: a service that gives real clusters, and the task that asks it for them. */
import { randomBytes } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startLocalClusters } from '../local-clusters/start.ts'
import { temporaryFolder } from '../process/folder.ts'
import { freePort } from '../process/ports.ts'
import { type Manifest, render } from './manifests.ts'
import { KUSTOMIZE, type Place } from './place.ts'

const FOLDER = join(KUSTOMIZE, 'providers', 'local')
const ADAPTER = 'cluster-local'
/** The two of the pool lab, one that goes while its successor comes, and one of a reader of docs/get-a-cluster.md. */
const QUOTA = 4
/** It kills its clusters before it ends. Milliseconds. */
const GRACE_MS = 30_000

/** What kustomize/providers/local says of the service. */
const DELIVERED = { url: 'http://127.0.0.1:8470', tokenFolder: '/var/run/secrets/local-clusters' }

/** What the other parts need to know of real clusters. */
export interface Provider {
  /** Adapters without which no cluster is Ready. */
  readonly requiredAdapters: readonly string[]
  /** Of the manager of the adapters: what the task may read, and where it may lead. */
  readonly adapterFlags: readonly string[]
  /** The task, its rights and the pool of real clusters. */
  readonly manifests: readonly Manifest[]
  /** Undefined without real clusters. */
  readonly service: ClusterService | undefined
}

/** The service that gives them. */
export interface ClusterService {
  /** Of its state. */
  readonly folder: string
  /** The folder of the programs that it runs, and of kubectl. */
  readonly binaries: string
}

/** Of an `npm run up` without real clusters. */
const NONE: Provider = { requiredAdapters: [], adapterFlags: [], manifests: [], service: undefined }

/** @param isWanted false: none */
export const startProvider = async (place: Place, isWanted: boolean): Promise<Provider> => {
  const { run, cluster, logs } = place
  // Beside a cluster that was there before no other ones are made.
  const binaries = isWanted && cluster.ours ? await cluster.programs?.() : undefined
  if (binaries === undefined) return NONE
  // Not in the scratch folder: a task may read nothing below the folder with the managers' own tokens.
  const home = await temporaryFolder('local-clusters')
  run.undo(undefined, () => rm(home, { recursive: true, force: true }))
  const [folder, tokenFolder] = [join(home, 'state'), join(home, 'token')]
  const url = await run.step(
    'Start a service that gives real clusters',
    async () => {
      const token = randomBytes(24).toString('hex')
      await mkdir(tokenFolder, { mode: 0o700 })
      await writeFile(join(tokenFolder, 'token'), token, { mode: 0o600 })
      const projects = [{ project: 'up', token, clusters: QUOTA }]
      const service = await startLocalClusters({
        folder,
        logs,
        port: await freePort(),
        binaries,
        projects,
        temporary: true,
      })
      run.undo('Stopping the service and its clusters', async () => void (await service.child.stop(GRACE_MS)))
      run.watch(service.child)
      return service.url
    },
    (it) => it,
  )
  const delivered = [...(await render(cluster, FOLDER)), ...(await render(cluster, join(FOLDER, 'pool')))]
  const pointed = JSON.stringify(delivered)
    .replaceAll(DELIVERED.url, url)
    .replaceAll(DELIVERED.tokenFolder, tokenFolder)
  return {
    requiredAdapters: [ADAPTER],
    adapterFlags: [`--adapter-files=${tokenFolder}`, `--adapter-http-targets=${url}/clusters`],
    manifests: JSON.parse(pointed) as Manifest[],
    service: { folder, binaries },
  }
}
