/** What the service knows of a cluster, on disk: it is there once its record is, and gone with it. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '#lib/replace-file.ts'

export type Power = 'Running' | 'Hibernating'

/** What a client says of a cluster. */
export interface ClusterSpec {
  readonly power: Power
  /** Of Services, such as 10.0.0.0/24. */
  readonly serviceCidr: string
  /** Of the API server, as its flag has them: A=true,B=false. */
  readonly featureGates: string
  /** What its kubeconfig calls the cluster, such as lima.example.com; '': its name. */
  readonly domain: string
}

export interface ClusterRecord {
  /** Chosen by the client: by it a request that is sent again is known. */
  readonly name: string
  /** Of this cluster and no later one of its name; also the name of its folder and of its prefix in etcd. */
  readonly uid: string
  /** Whose quota it counts against; no other project sees it. */
  readonly project: string
  readonly spec: ClusterSpec
  /** Of its API server. */
  readonly port: number
  /** RFC 3339. */
  readonly createdAt: string
  /** Its deletion was asked for, and does not end before it is done. */
  readonly deleting: boolean
}

export class RecordStore {
  readonly #folder: string

  /** @param folder of all clusters */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Where a cluster has its files. */
  folderOf({ uid }: Pick<ClusterRecord, 'uid'>): string {
    return join(this.#folder, uid)
  }

  #fileOf(record: Pick<ClusterRecord, 'uid'>): string {
    return join(this.folderOf(record), 'cluster.json')
  }

  async save(record: ClusterRecord): Promise<void> {
    await mkdir(this.folderOf(record), { recursive: true, mode: 0o700 })
    await replaceFile(this.#fileOf(record), `${JSON.stringify(record, undefined, 2)}\n`)
  }

  /** The record goes first: a folder without one is a rest. */
  async remove(record: ClusterRecord): Promise<void> {
    await rm(this.#fileOf(record), { force: true })
    await rm(this.folderOf(record), { recursive: true, force: true })
  }

  /** Those of before, and removes what a creation or removal that was interrupted has left. */
  async load(): Promise<readonly ClusterRecord[]> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const records: ClusterRecord[] = []
    for (const uid of await readdir(this.#folder)) {
      const file = this.#fileOf({ uid })
      if (existsSync(file)) records.push(JSON.parse(await readFile(file, 'utf8')) as ClusterRecord)
      else await rm(this.folderOf({ uid }), { recursive: true, force: true })
    }
    return records
  }
}
