import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, BenchContext } from '../definition.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import { median, percentile } from '../measure/statistics.ts'
import type { Figure } from '../report/row.ts'
import { openStage, type Stage } from '../stage.ts'
import { type Fleet, openFleet } from './fleet.ts'
import { type Ground, openGround, type Shape } from './ground.ts'

const SAMPLES = 40
/** Events before those that count: the first runs of a process are slow until V8 has compiled what they use. */
const WARM_UP = 40
const LIVES = 15
const MANY = 100

/** The Go peer is in no registry: anchors, hyperfleet-adapter 5, on another machine, with a Namespace and a ConfigMap. */
const PEER = 'hyperfleet-adapter (Go), measured elsewhere'
const PEER_READY_MS = 2_500
const PEER_GONE_MS = 11_900
const PEER_MANY_READY_MS = 6_500
const PEER_MANY_GONE_MS = 20_400
const PEER_RUNS = 1_046
const PEER_RSS_MIB = 57

/** A Namespace alone takes Kubernetes longer to remove than a deletion may take. */
const GONE_MS = 2_000
const MANY_GONE_MS = 6_000

export const adapter: Bench = {
  name: 'adapter',
  summary: `Adapter tasks with the real API, Sentinel and API server, each bundled and a process: an event until its report, clusters from POST to Ready and from DELETE to gone, one by one and ${MANY} at once. Each has a Namespace with a ConfigMap in it, or (flat) two ConfigMaps.`,
  run: async (context) => {
    const { say, note } = context
    note(`${PEER}, on another machine: its ratios are a hint, not a comparison.`)
    note('The API, the Sentinel, the adapters, the API server, etcd, its controllers and the load share the cores.')
    await using stage = await openStage(say, ['etcd', 'kube-apiserver', 'kube-controller-manager'])
    await using ground = await openGround(stage)
    const fleet = openFleet(ground.api.url)
    try {
      return await measured(stage, ground, fleet, context)
    } finally {
      await fleet.close()
    }
  },
}

const measured = async (
  stage: Stage,
  ground: Ground,
  fleet: Fleet,
  { say }: BenchContext,
): Promise<readonly Figure[]> => {
  say(`${WARM_UP + SAMPLES} events, one after the other`)
  for (const _ of upTo(WARM_UP)) await fleet.eventUntilReport(await fleet.create('namespace'))
  const reports: number[] = []
  for (const _ of upTo(SAMPLES)) reports.push(await fleet.eventUntilReport(await fleet.create('namespace')))

  await ground.pulse()
  // The Sentinel finds what is there already.
  await sleep(3_000)
  const flat = await lives(fleet, 'flat', say)
  const namespaced = await lives(fleet, 'namespace', say)
  const own = await namespaceRemovals(stage, 5, 1, say)
  const manyFlat = await crowd(ground, fleet, 'flat', say)
  const manyNamespaced = await crowd(ground, fleet, 'namespace', say)
  const { rssMiB, peakRssMiB } = ground.adapter.usage()
  const manyOwn = await namespaceRemovals(stage, MANY, MANY, say)
  const of = (value: number) => ({ name: PEER, value })
  const atMost = (most: number) => ({ of: 'value', atMost: most }) as const
  return [
    { name: 'event until report, p50', unit: 'ms', value: percentile(reports, 0.5), target: atMost(30) },
    { name: 'event until report, p99', unit: 'ms', value: percentile(reports, 0.99) },
    {
      name: 'create until Ready, p50',
      unit: 'ms',
      value: percentile(namespaced.ready, 0.5),
      peer: of(PEER_READY_MS),
      target: atMost(500),
    },
    { name: 'DELETE until gone, flat, p50', unit: 'ms', value: percentile(flat.gone, 0.5), target: atMost(GONE_MS) },
    { name: 'DELETE until gone, p50', unit: 'ms', value: percentile(namespaced.gone, 0.5), peer: of(PEER_GONE_MS) },
    { name: 'a Namespace with a ConfigMap, deleted by hand, p50', unit: 'ms', value: median(own) },
    {
      name: `${MANY} clusters Ready after the last POST`,
      unit: 'ms',
      value: manyNamespaced.ready,
      peer: of(PEER_MANY_READY_MS),
      target: atMost(3_000),
    },
    { name: `${MANY} clusters gone, flat`, unit: 'ms', value: manyFlat.gone, target: atMost(MANY_GONE_MS) },
    { name: `${MANY} clusters gone`, unit: 'ms', value: manyNamespaced.gone, peer: of(PEER_MANY_GONE_MS) },
    { name: `${MANY} such Namespaces, deleted by hand`, unit: 'ms', value: Math.max(...manyOwn) },
    {
      name: `runs for ${MANY} clusters, flat`,
      unit: 'runs',
      value: manyFlat.runs,
      target: atMost(350),
    },
    {
      name: `runs for ${MANY} clusters`,
      unit: 'runs',
      value: manyNamespaced.runs,
      peer: of(PEER_RUNS),
    },
    {
      name: 'requests to the API server until a cluster is Ready, flat',
      unit: 'requests',
      value: manyFlat.applying / MANY,
    },
    { name: 'requests to the API server until it is gone, flat', unit: 'requests', value: manyFlat.deleting / MANY },
    { name: 'CPU of the adapters, flat', unit: 'ms/run', value: manyFlat.cpuMs / manyFlat.runs },
    { name: 'RSS after all of it', unit: 'MiB', value: rssMiB, peer: of(PEER_RSS_MIB), target: atMost(128) },
    { name: 'peak RSS', unit: 'MiB', value: peakRssMiB },
  ]
}

/** Clusters that come and go one after the other. */
const lives = async (fleet: Fleet, shape: Shape, say: BenchContext['say']) => {
  say(`${LIVES} clusters (${shape}), one after the other`)
  const ready: number[] = []
  const gone: number[] = []
  for (const _ of upTo(LIVES)) {
    const { id, took } = await fleet.createUntilReady(shape)
    ready.push(took)
    gone.push(await fleet.deleteUntilGone(id))
  }
  return { ready, gone }
}

const crowd = async (ground: Ground, fleet: Fleet, shape: Shape, say: BenchContext['say']) => {
  say(`${MANY} clusters (${shape}) at once`)
  const [before, usedBefore] = [await ground.runs(), ground.adapter.usage().cpuMs]
  const asked = [await ground.requests()]
  const { ids, took: ready } = await fleet.createMany(shape, MANY)
  asked.push(await ground.requests())
  const gone = await fleet.deleteMany(ids)
  const cpuMs = ground.adapter.usage().cpuMs - usedBefore
  const runs = (await ground.runs()) - before
  // What is written beside the last reports.
  await sleep(1_000)
  asked.push(await ground.requests())
  const [atFirst = 0, applied = 0, deleted = 0] = asked
  return { ready, gone, runs, cpuMs, applying: applied - atFirst, deleting: deleted - applied }
}

/** What Kubernetes itself needs, without any help: milliseconds until each is gone, so many at a time. */
const namespaceRemovals = async (
  { server }: Stage,
  count: number,
  atOnce: number,
  say: BenchContext['say'],
): Promise<readonly number[]> => {
  say(`${count} namespaces, deleted by hand`)
  const names = upTo(count).map((index) => `by-hand-${atOnce}-${index}`)
  for (const name of names) {
    await server.request('POST', '/api/v1/namespaces', { metadata: { name } })
    await server.request('POST', `/api/v1/namespaces/${name}/configmaps`, { metadata: { name: 'config' } })
  }
  return inParallel(names, atOnce, async (name) => {
    const began = moment()
    await server.request('DELETE', `/api/v1/namespaces/${name}`)
    while (await isThere(server, `/api/v1/namespaces/${name}`)) await sleep(10 * atOnce)
    return moment() - began
  })
}

const isThere = async (server: Stage['server'], path: string): Promise<boolean> => {
  try {
    await server.request('GET', path)
    return true
  } catch {
    return false
  }
}
