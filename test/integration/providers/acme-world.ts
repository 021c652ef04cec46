/** What the test of the example provider stands on: its made-up cloud as a process, and a front before it that loses answers and kills it. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Child, startChild, untilReady } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { accepts, freePort } from '#hack/process/ports.ts'
import { detach } from '#lib/process/detach.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')
export const TOKEN = 'a-token-of-the-test'
export const QUOTA = 2
/** Longer than any test: what the cloud has begun is done by the next process, which takes no time. */
const FOREVER_SECONDS = 1_000_000

/** What becomes of the next POST. */
export type Fault =
  | 'the answer is lost'
  | 'the cloud is killed before it has the request'
  | 'the cloud is killed before its answer is there'

export interface AcmeCluster {
  readonly id: string
  readonly client_token: string
  readonly state: string
}

export interface AcmeWorld extends AsyncDisposable {
  /** Of the front. */
  readonly url: string
  /** `METHOD path` of each request that came to the front. */
  readonly requests: readonly string[]
  /** Whether a fault is still to come. */
  readonly isFaulty: boolean
  breakNextPost(fault: Fault): void
  /** All that the cloud has. */
  clusters(): Promise<readonly AcmeCluster[]>
  /** Of a record. */
  cluster(clientToken: string): Promise<AcmeCluster | undefined>
  /** Kills the cloud; the next one does no work, or is done with all work at once. */
  restart(work: 'never done' | 'done at once'): Promise<void>
}

export const acmeWorld = async (): Promise<AcmeWorld> => {
  const folder = await temporaryFolder('acme')
  const port = await freePort()
  const requests: string[] = []
  let fault: Fault | undefined
  let cloud: Child | undefined

  const start = async (seconds: number): Promise<void> => {
    const env = {
      PORT: String(port),
      TOKEN,
      QUOTA: String(QUOTA),
      SECONDS: String(seconds),
      FILE: join(folder, 'acme.json'),
    }
    cloud = await startChild({
      name: 'acme',
      command: process.execPath,
      args: [join(REPOSITORY, 'examples/provider/cloud.ts')],
      env: { ...process.env, ...env },
      logFile: join(folder, 'acme.log'),
      guarded: true,
    })
    await untilReady(cloud, () => accepts(port))
  }

  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method, url, headers } = incoming
    requests.push(`${method} ${url}`)
    const present = method === 'POST' ? fault : undefined
    if (present !== undefined) fault = undefined
    if (present === 'the cloud is killed before it has the request') await cloud?.kill()
    const forwarded = request(`http://127.0.0.1:${port}${url}`, { method, headers, agent: false })
    incoming.pipe(forwarded)
    try {
      const [answer] = (await once(forwarded, 'response')) as [IncomingMessage]
      if (present === undefined) return void answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers))
      if (present === 'the cloud is killed before its answer is there') await cloud?.kill()
    } catch {
      // The cloud is dead, and its client hears that.
    }
    response.destroy()
  }
  const front = createServer((incoming, response) => detach('passing a request on', pass(incoming, response)))
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  await start(FOREVER_SECONDS)

  const clusters = async (): Promise<readonly AcmeCluster[]> => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const answer = await fetch(`http://127.0.0.1:${port}/v1/clusters`, { headers })
    return ((await answer.json()) as { clusters: AcmeCluster[] }).clusters
  }

  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    requests,
    get isFaulty() {
      return fault !== undefined
    },
    breakNextPost: (next) => {
      fault = next
    },
    clusters,
    cluster: async (clientToken) => (await clusters()).find(({ client_token }) => client_token === clientToken),
    restart: async (work) => {
      await cloud?.kill()
      await start(work === 'done at once' ? 0 : FOREVER_SECONDS)
    },
    async [Symbol.asyncDispose]() {
      front.closeAllConnections()
      front.close()
      await cloud?.kill()
    },
  }
}
