/**
 * Looks on while things go back in time: it asks the API server, the HyperFleet API, NATS and the machine's processes again and again, and
 * rests on no watch, because a server that went back tells a watch nothing. None of the controllers' code. What it finds wrong it keeps.
 */
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Rest } from '#test/harness/connection.ts'
import { type Call, readRecords } from '#test/worlds/suite/observer/hyperfleet.ts'
import { keysIn } from '#test/worlds/suite/observer/keys.ts'
import { KINDS, type Kind } from '#test/worlds/suite/observer/kinds.ts'
import { type ClusterSight, clusterOf, type KubeSight, nameOf } from '#test/worlds/suite/observer/sights.ts'
import type { Timeline } from '#test/worlds/suite/timeline.ts'
import { type Declared, isRecordGone, type Sight, violationsOf } from './invariants.ts'

export interface ObserverOptions {
  readonly rest: Rest
  readonly call: Call
  readonly natsUrl: string
  /** The arguments of the programs that are to run on machines. */
  readonly program: readonly string[]
  readonly timeline: Timeline
  /** What people want at this moment. */
  declared(): Declared
}

export interface DisasterObserver extends AsyncDisposable {
  /** Everything that was wrong so far, each once. */
  violations(): readonly string[]
  /** As it was seen last; what did not answer, as it was before. */
  sight(): Sight
  /** Resolves when everything that answers has been looked at from now on. */
  look(): Promise<void>
  /** From now on each of the programs that run must go on, until others are declared. */
  keepPrograms(): void
  releasePrograms(): void
}

/** Between two looks, in milliseconds. */
const POLL_INTERVAL_MS = 400

export const startObserver = async (options: ObserverOptions): Promise<DisasterObserver> => {
  const { rest, call, natsUrl, program, timeline, declared } = options
  const ending = new AbortController()
  const violations = new Set<string>()
  const customizations = new Map<string, string>()
  const lost = new Set<string>()
  let sight: Sight = { objects: {}, records: [], keys: [], programs: [], kept: [], customizations, lost }

  const objectsOf = async (kind: Kind): Promise<readonly KubeSight[]> =>
    // Items of a list don't say their kind.
    (await rest<{ items: readonly KubeSight[] }>('GET', KINDS[kind])).items.map((item) => ({ ...item, kind }))
  const keep = async <T>(read: () => Promise<T>, before: T): Promise<T> => read().catch(() => before)

  const look = async (): Promise<void> => {
    const kinds = Object.keys(KINDS) as Kind[]
    const before = sight
    const found = await Promise.all(
      kinds.map(async (kind) => [kind, await keep(() => objectsOf(kind), before.objects[kind] ?? [])] as const),
    )
    const objects = Object.fromEntries(found) as Sight['objects']
    for (const { name, customization } of (objects.ClusterDeployment ?? []).map(clusterOf) as readonly ClusterSight[])
      if (customization !== undefined) customizations.set(name, customization)
    for (const cluster of objects.ClusterDeployment ?? []) if (isRecordGone(cluster)) lost.add(nameOf(cluster))
    sight = {
      objects,
      records: await keep(() => readRecords(call), before.records),
      keys: await keep(() => keysIn(natsUrl), before.keys),
      programs: await programsOf(program),
      kept: sight.kept,
      customizations,
      lost,
    }
    for (const one of violationsOf(sight, declared())) {
      if (violations.has(one)) continue
      violations.add(one)
      timeline.note(`VIOLATION: ${one}`)
    }
  }
  let looking = look()
  const observeOnce = (): Promise<void> => {
    looking = looking.then(look)
    return looking
  }
  const following = (async () => {
    while (!ending.signal.aborted) {
      await observeOnce()
      await delay(POLL_INTERVAL_MS)
    }
  })()
  await looking
  return {
    violations: () => [...violations],
    sight: () => sight,
    look: observeOnce,
    keepPrograms: () => {
      sight = { ...sight, kept: sight.programs }
    },
    releasePrograms: () => {
      sight = { ...sight, kept: [] }
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await following
    },
  }
}

/** Numbers of the processes of this machine that were started with these arguments. */
const programsOf = async (args: readonly string[]): Promise<readonly number[]> => {
  const wanted = args.join('\0')
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    numbers.map(async (number) => {
      const line = await readFile(`/proc/${number}/cmdline`, 'utf8').catch(() => '')
      return line.replace(/\0+$/, '') === wanted ? [Number(number)] : []
    }),
  )
  return found.flat()
}
