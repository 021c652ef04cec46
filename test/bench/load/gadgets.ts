/** The load: gadgets created, changed and deleted, and for each the moment when a contestant has served it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { apiVersionOf, type KubeObject, pathOf } from '#operator/model/resource.ts'
import { Gadget } from '../gadget.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import type { ApiServer } from './client.ts'
import { moment } from './moment.ts'
import { track } from './track.ts'

/** Requests under way at once: enough to keep an API server on two cores busy, few enough not to be throttled by it. */
const IN_FLIGHT = 16

/** A change that was asked for and then reported Ready. */
export interface Served {
  readonly sentAt: number
  readonly servedAt: number
}

/** How long each phase took, from the first request until the watch has shown the last object done; milliseconds. */
export interface Lifecycle {
  readonly createMs: number
  readonly patchMs: number
  readonly deleteMs: number
}

export interface Gadgets {
  /** Creates `count` gadgets without waiting until they are served. */
  create(count: number, payloadBytes: number): Promise<void>
  /** Resolves when gadgets 0 to `count`-1 are Ready. */
  served(count: number): Promise<void>
  /** Creates, changes and deletes `count` gadgets, waiting for all between the phases. */
  lifecycle(count: number): Promise<Lifecycle>
  /** Changes gadgets, by index; resolves when the API server has taken all. */
  change(indexes: readonly number[]): Promise<void>
  /** Resolves when everything that `change` has asked for is served. */
  changed(): Promise<readonly Served[]>
  /** Changes gadgets 0 to `count`-1 in turn at a steady pace, whether or not the change before is served. */
  pace(count: number, changes: number, perSecond: number): Promise<readonly Served[]>
  /** Resolves when nothing has happened to any gadget for so many milliseconds. */
  quiet(milliseconds: number): Promise<void>
  /** Deletes all gadgets and takes their finalizers off itself: no contestant needs to run. */
  clear(): Promise<void>
}

/** Opens a watch on the (empty) namespace's gadgets and returns the load on them. */
export const openGadgets = async (server: ApiServer, namespace: string, signal: AbortSignal): Promise<Gadgets> => {
  const collection = pathOf(Gadget, { namespace })
  const pathOfGadget = (name: string): string => pathOf(Gadget, { namespace, name })
  const seen = await track(server, collection, signal)
  let size = 0

  const create = async (index: number, payloadBytes: number): Promise<void> => {
    await server.request('POST', collection, {
      apiVersion: apiVersionOf(Gadget),
      kind: Gadget.kind,
      metadata: { name: nameOf(index), labels: { 'bench.muster.io/shard': `s${index % 10}` } },
      spec: { size, ...(payloadBytes === 0 ? {} : { payload: payload(payloadBytes) }) },
    })
  }
  /** Resolves when the API server has taken the change; its `served` when the contestant has. */
  const change = async (index: number): Promise<{ served: Promise<Served> }> => {
    const name = nameOf(index)
    const sentAt = moment()
    const answer = (await server.request('PATCH', pathOfGadget(name), { spec: { size: ++size } })) as KubeObject
    const served = seen.served(name, answer.metadata.generation ?? 0).then((servedAt) => ({ sentAt, servedAt }))
    // Awaited only when all are sent: until then a failed watch must not end the process unheard.
    served.catch(() => undefined)
    return { served }
  }
  let pending: readonly { served: Promise<Served> }[] = []
  const changeAll = async (indexes: readonly number[]): Promise<void> => {
    pending = await inParallel(indexes, IN_FLIGHT, change)
  }
  const changed = (): Promise<readonly Served[]> => Promise.all(pending.map(({ served }) => served))
  const served = async (count: number): Promise<void> => {
    await Promise.all(upTo(count).map((index) => seen.served(nameOf(index), 1)))
  }
  const removeAll = async (names: readonly string[], remove: (name: string) => Promise<unknown>): Promise<void> => {
    await inParallel(names, IN_FLIGHT, remove)
    await Promise.all(names.map(seen.gone))
  }

  return {
    create: async (count, payloadBytes) => {
      await inParallel(upTo(count), IN_FLIGHT, (index) => create(index, payloadBytes))
    },
    served,
    lifecycle: async (count) => ({
      createMs: await timed(async () => {
        await inParallel(upTo(count), IN_FLIGHT, (index) => create(index, 0))
        await served(count)
      }),
      patchMs: await timed(() => changeAll(upTo(count)).then(changed)),
      deleteMs: await timed(() =>
        removeAll(upTo(count).map(nameOf), (name) => server.request('DELETE', pathOfGadget(name))),
      ),
    }),
    change: changeAll,
    changed,
    pace: async (count, changes, perSecond) => {
      const start = moment()
      const all: Promise<Served>[] = []
      for (let index = 0; index < changes; index++) {
        await sleep(Math.max(0, start + (index * 1000) / perSecond - moment()))
        all.push(change(index % count).then((sent) => sent.served))
      }
      return Promise.all(all)
    },
    quiet: seen.quiet,
    clear: () =>
      removeAll(seen.names(), async (name) => {
        await server.request('PATCH', pathOfGadget(name), { metadata: { finalizers: null } })
        await server.request('DELETE', pathOfGadget(name))
      }),
  }
}

const nameOf = (index: number): string => `g-${index}`

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = moment()
  await work()
  return moment() - start
}

/** So many bytes in values of 64, as configuration looks. */
const payload = (bytes: number): Record<string, string> =>
  Object.fromEntries(upTo(Math.ceil(bytes / 64)).map((index) => [`key-${index}`, 'x'.repeat(56)]))
