// A made-up cloud, Acme, whose API was not made for Muster: it makes ids of its own, takes its time, and has words of its own for states and
// errors. Its clusters are not real; what it knows of them is in memory, and in FILE when there is one, so that it can be killed.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'

const { PORT = '8480', TOKEN = 'a-token-of-your-choice', QUOTA = '3', SECONDS = '5', FILE } = process.env

interface Cluster {
  readonly id: string
  readonly client_token: string
  readonly region: string
  readonly power: string
  readonly state: string
  readonly state_reason: string
  /** Milliseconds since the epoch. */
  readonly state_since: number
}

type Texts = Readonly<Record<string, string>>
type Answer = readonly [status: number, body: unknown]

/** What becomes of a state after SECONDS; the others stay. */
const NEXT: Texts = {
  PROVISIONING: 'ACTIVE',
  STARTING: 'ACTIVE',
  STOPPING: 'STOPPED',
  DELETING: 'GONE',
  'ACTIVE off': 'STOPPING',
  'STOPPED on': 'STARTING',
}
const REGIONS = ['north', 'south']

/** By id. */
const clusters = new Map<string, Cluster>(FILE && existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : [])

const keep = (cluster: Cluster, state = cluster.state, state_reason = cluster.state_reason): Cluster => {
  const changed = { ...cluster, state, state_reason, state_since: Date.now() }
  clusters.set(cluster.id, changed)
  return changed
}

/** Work goes on by the clock, so a process that is killed holds none of it up. */
const letTimePass = (): void => {
  for (const cluster of clusters.values()) {
    const next = NEXT[cluster.state] ?? NEXT[`${cluster.state} ${cluster.power}`]
    if (!next || Date.now() < cluster.state_since + Number(SECONDS) * 1000) continue
    if (next === 'GONE') clusters.delete(cluster.id)
    else if (REGIONS.includes(cluster.region)) keep(cluster, next)
    else keep(cluster, 'ERROR', `there is no region ${cluster.region}`)
  }
}

const byToken = (token: string) => [...clusters.values()].find(({ client_token }) => client_token === token)

const refuse = (status: number, code: string, message: string): Answer => [status, { error: { code, message } }]

const create = ({ client_token, region, power = 'on' }: Texts): Answer => {
  if (!client_token || !region) return refuse(400, 'invalid_request', 'client_token and region are missing')
  const known = byToken(client_token)
  if (known) return [202, known]
  if (clusters.size >= Number(QUOTA)) return refuse(422, 'quota_exceeded', `${QUOTA} clusters are all you may have`)
  const id = `cl-${randomUUID().slice(0, 8)}`
  return [202, keep({ id, client_token, region, power, state: 'PROVISIONING', state_reason: '', state_since: 0 })]
}

const change = (cluster: Cluster, { power = cluster.power }: Texts): Answer => {
  if (cluster.state === 'DELETING') return refuse(409, 'conflict', `${cluster.id} is being deleted`)
  return [202, power === cluster.power ? cluster : keep({ ...cluster, power })]
}

const handOut = ({ id, state }: Cluster): Answer => {
  if (state === 'PROVISIONING' || state === 'ERROR') return refuse(404, 'not_found', `${id} has no kubeconfig yet`)
  const cluster = `{name: acme, cluster: {server: "https://${id}.acme.example:6443"}}`
  const user = `{name: admin, user: {token: "of-${id}"}}`
  const context = '{name: acme, context: {cluster: acme, user: admin}}'
  const lists = `clusters: [${cluster}]\nusers: [${user}]\ncontexts: [${context}]\n`
  return [200, `apiVersion: v1\nkind: Config\n${lists}current-context: acme\n`]
}

const answer = ({ method, url = '', headers }: IncomingMessage, body: Texts): Answer => {
  if (headers.authorization !== `Bearer ${TOKEN}`) return refuse(401, 'unauthenticated', 'this token is not known')
  letTimePass()
  if (`${method} ${url}` === 'GET /v1/clusters') return [200, { clusters: [...clusters.values()] }]
  if (`${method} ${url}` === 'POST /v1/clusters') return create(body)
  const [, by, key = '', kubeconfig = ''] = /^\/v1\/clusters\/(by-token\/)?([^/]+)(\/kubeconfig)?$/.exec(url) ?? []
  const cluster = by ? byToken(key) : clusters.get(key)
  if (!cluster) return refuse(404, 'not_found', 'there is no such cluster')
  const asked = `${method}${kubeconfig}`
  if (asked === 'GET/kubeconfig') return handOut(cluster)
  if (asked === 'GET') return [200, cluster]
  if (asked === 'PUT') return change(cluster, body)
  if (asked === 'DELETE') return [202, cluster.state === 'DELETING' ? cluster : keep(cluster, 'DELETING')]
  return refuse(405, 'method_not_allowed', `${url} does not take ${method}`)
}

const parse = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const [status, body] = answer(request, parse(Buffer.concat(parts).toString()))
    // Written down before it is answered: an answer that is lost changes nothing.
    if (FILE) {
      writeFileSync(`${FILE}.new`, JSON.stringify([...clusters]))
      renameSync(`${FILE}.new`, FILE)
    }
    const isText = typeof body === 'string'
    response.writeHead(status, { 'content-type': isText ? 'application/yaml' : 'application/json' })
    response.end(isText ? body : `${JSON.stringify(body)}\n`)
  })
})
server.listen(Number(PORT), '127.0.0.1', () => console.log(`Acme is at http://127.0.0.1:${PORT}/v1/clusters`))
