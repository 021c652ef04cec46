/** The one etcd of all clusters: each has its keys below a prefix of its own. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { lastLines } from '../process/child.ts'
import { ProcessError } from '../process/errors.ts'
import { type DaemonStart, findDaemon, logFileOf, startDaemon, stopDaemon } from './daemon.ts'

export interface EtcdOptions {
  /** Private: whatever reaches the socket in it reads everything. */
  readonly folder: string
  readonly binaries: string
  /** Ends with us. */
  readonly guarded: boolean
}

const START_TIMEOUT_MS = 60_000
const POLL_INTERVAL_MS = 50

/** Below it are all keys of a cluster. */
export const prefixOf = (uid: string): string => `/clusters/${uid}`

export class Etcd {
  readonly #daemon: DaemonStart
  readonly #socket: string
  readonly #agent: Agent

  constructor({ folder, binaries, guarded }: EtcdOptions) {
    this.#socket = join(folder, 'etcd.sock')
    this.#agent = new Agent({ connect: { socketPath: this.#socket } })
    this.#daemon = {
      name: 'etcd',
      folder,
      command: join(binaries, 'etcd'),
      // As that of the local control plane: hack/cluster/local/commandline.ts.
      args: [
        '--name=local-clusters',
        `--data-dir=${join(folder, 'data')}`,
        '--listen-client-urls=unix://etcd.sock',
        '--listen-peer-urls=unix://peer.sock',
        '--advertise-client-urls=http://127.0.0.1:1',
        '--initial-advertise-peer-urls=http://127.0.0.1:1',
        '--initial-cluster=local-clusters=http://127.0.0.1:1',
        '--unsafe-no-fsync',
        '--log-level=warn',
      ],
      guarded,
    }
  }

  /** For API servers. */
  get url(): string {
    return `unix://${this.#socket}`
  }

  /** Resolves when it serves, whether it ran already or is started now. @throws ProcessError */
  async ensureRunning(): Promise<void> {
    if ((await findDaemon(this.#daemon)) === undefined) {
      await mkdir(this.#daemon.folder, { recursive: true, mode: 0o700 })
      await startDaemon(this.#daemon)
    }
    for (const deadline = performance.now() + START_TIMEOUT_MS; !(await this.#serves()); ) {
      if ((await findDaemon(this.#daemon)) === undefined || performance.now() > deadline)
        throw new ProcessError(`etcd does not serve. Its log ends with:\n${lastLines(logFileOf(this.#daemon))}`)
      await delay(POLL_INTERVAL_MS)
    }
  }

  async #serves(): Promise<boolean> {
    return this.count('/').then(
      () => true,
      () => false,
    )
  }

  /** How many keys are below a prefix. */
  async count(prefix: string): Promise<number> {
    const { count = '0' } = await this.#call<{ count?: string }>('range', { ...keysBelow(prefix), count_only: true })
    return Number(count)
  }

  async removePrefix(prefix: string): Promise<void> {
    await this.#call('deleterange', keysBelow(prefix))
  }

  stop(): Promise<void> {
    return stopDaemon(this.#daemon)
  }

  /** Ends our connections; etcd goes on. */
  close(): Promise<void> {
    return this.#agent.close()
  }

  /** One call of its JSON gateway: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway */
  async #call<T>(operation: 'range' | 'deleterange', body: object): Promise<T> {
    const { statusCode, body: answer } = await request(`http://etcd/v3/kv/${operation}`, {
      dispatcher: this.#agent,
      method: 'POST',
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (statusCode !== 200) throw new ProcessError(`etcd answered ${operation} with ${statusCode}: ${text}`)
    return JSON.parse(text) as T
  }
}

/** The slash at the end keeps a name that begins with another one apart; the character after it ends the range. */
const keysBelow = (prefix: string) => {
  const below = prefix.endsWith('/') ? prefix : `${prefix}/`
  return { key: encode(below), range_end: encode(`${below.slice(0, -1)}0`) }
}

const encode = (text: string): string => Buffer.from(text).toString('base64')
