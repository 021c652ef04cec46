import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '#operator/model/clock.ts'
import { type PeerDialect, startPeerDialect } from '#test/harness/peer-dialect.ts'
import type { Bench } from '../definition.ts'
import { upTo } from '../in-parallel.ts'
import { percentile } from '../measure/statistics.ts'
import type { Figure, Target } from '../report/row.ts'
import { openStage, type Stage } from '../stage.ts'
import { createConfig, untilPulsed } from './config.ts'
import { startSentinel } from './processes.ts'

const RESOURCES = 20_000
const WINDOW_MS = 60_000
const CHANGES = 20
/** SentinelConfig's default. */
const POLL_INTERVAL_MS = 5_000
const PAGE_SIZE = 100

/**
 * The Go peer is in no registry. These were measured elsewhere, on a mock API with 20,000 resources, nothing due, pages of 100
 * (anchors: hyperfleet-sentinel 4.4); a mark in the table says so.
 */
const PEER = 'hyperfleet-sentinel (Go), measured elsewhere'
const PEER_CPU_S = 1.73
const PEER_PEAK_RSS_MIB = 574

export const sentinelPolling: Bench = {
  name: 'sentinel-polling',
  summary: `A Sentinel by polling every ${POLL_INTERVAL_MS / 1000} s, against an API that knows only the dialect of the Go service, with ${RESOURCES.toLocaleString('en')} resources of about 3.5 KB: CPU of a sweep over all, peak memory, and the way of a change to its event.`,
  run: async ({ say, note }) => {
    note(`${PEER}, on another machine: its ratios are a hint, not a comparison.`)
    const figures: Figure[] = []
    for (const search of [false, true]) {
      say(search ? 'an API that can be asked for what is due' : 'an API that can only be swept')
      await using stage = await openStage(say)
      const peer = await startPeerDialect({ clock: systemClock, search })
      try {
        figures.push(...(await polled(stage, peer, search)))
      } finally {
        await peer.stop()
      }
    }
    return figures
  },
}

const polled = async (stage: Stage, peer: PeerDialect, search: boolean): Promise<readonly Figure[]> => {
  const ids = upTo(RESOURCES).map((index) => create(peer, `c-${index}`))
  await createConfig(stage, peer.url)
  await using sentinel = await startSentinel(stage, { api: peer.url })
  await untilPulsed(stage, RESOURCES)
  await sleep(2 * POLL_INTERVAL_MS)
  const before = sentinel.usage()
  const requestsBefore = lists(peer)
  await sleep(WINDOW_MS)
  const after = sentinel.usage()
  const cpuS = (after.cpuMs - before.cpuMs) / 1000
  if (!search) {
    const sweeps = (lists(peer) - requestsBefore) / (RESOURCES / PAGE_SIZE)
    return [
      {
        name: 'CPU of a sweep',
        unit: 'core-s',
        value: cpuS / sweeps,
        peer: { name: PEER, value: PEER_CPU_S },
        target: { of: 'ratio', atMost: 1 },
      },
      {
        name: 'peak RSS',
        unit: 'MiB',
        value: after.peakRssMiB,
        peer: { name: PEER, value: PEER_PEAK_RSS_MIB },
        target: { of: 'ratio', atMost: 0.25 },
      },
    ]
  }
  const latencies = await changed(peer, ids.slice(0, CHANGES))
  const inTime: Target = { of: 'value', atMost: POLL_INTERVAL_MS }
  return [
    { name: 'CPU of a poll for what is due', unit: 'core-s', value: (cpuS * POLL_INTERVAL_MS) / WINDOW_MS },
    { name: 'change until event, p50', unit: 'ms', value: percentile(latencies, 0.5) },
    { name: 'change until event, worst', unit: 'ms', value: percentile(latencies, 1), target: inTime },
  ]
}

/** A resource of the size that the peer was measured with: a spec of 1.9 KB and six conditions. */
const create = (peer: PeerDialect, id: string): string => {
  const resource = peer.create('clusters', { id })
  const [reconciled] = resource.status.conditions
  if (reconciled === undefined) throw new Error('the peer dialect gives no Reconciled condition')
  // As that API does: it judges a new resource at the moment of its creation.
  resource.created_time = reconciled.last_updated_time
  resource.spec = { text: 'x'.repeat(1_900) }
  for (const type of ['Available', 'Applied', 'Health', 'Validated', 'Placed']) {
    resource.status.conditions.push({ ...reconciled, type })
  }
  return id
}

const lists = ({ requests }: PeerDialect): number => requests.filter((request) => request.startsWith('GET ')).length

/** Changes resources at moments spread over the poll interval; milliseconds until each one's event. */
const changed = async (peer: PeerDialect, ids: readonly string[]): Promise<readonly number[]> => {
  const sentAt = new Map<string, number>()
  const known = peer.events.length
  for (const id of ids) {
    peer.patch(id)
    sentAt.set(id, systemClock.now().getTime())
    await sleep((1.3 * POLL_INTERVAL_MS) / ids.length)
  }
  const events = () => peer.events.slice(known).filter(({ resourceId }) => sentAt.has(resourceId))
  while (events().length < ids.length) await sleep(100)
  return events().map(({ resourceId, at }) => at - (sentAt.get(resourceId) ?? Number.NaN))
}
