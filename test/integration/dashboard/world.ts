/** A dashboard on a port of its own, over objects that the test puts into its caches and a fleet in this process. */

import { RunHistory } from '#controllers/adapter/runs/run-history.ts'
import { createStore, type WritableStore } from '#operator/client/store.ts'
import { type Clock, systemClock } from '#operator/model/clock.ts'
import { silent } from '#operator/model/log.ts'
import { apiVersionOf, type KubeObject, keyOf, type ObjectMeta, type Resource } from '#operator/model/resource.ts'
import type { Cache } from '#operator/operator.ts'
import type { Guard } from '#services/dashboard/access/guard.ts'
import { serveDashboard } from '#services/dashboard/serve.ts'
import type { Sources } from '#services/dashboard/sources.ts'
import { Fleet } from './fleet.ts'

type Given = { readonly metadata: Partial<ObjectMeta> & { readonly name: string } } & Readonly<Record<string, unknown>>

/** The caches of a manager, filled by hand. */
export class Shelf {
  readonly #stores = new Map<string, WritableStore<KubeObject>>()
  readonly #listeners = new Set<() => void>()
  #version = 0

  /** A controller of this manager watches the kind. */
  watch(...resources: readonly Resource[]): void {
    for (const { plural } of resources) this.#stores.set(plural, this.#stores.get(plural) ?? createStore())
  }

  /** The object as the API server would have it; what is not given is filled in. */
  put<O extends KubeObject>(resource: Resource<O>, object: Given): void {
    this.watch(resource)
    this.#version += 1
    const metadata = {
      uid: `uid-of-${keyOf(object.metadata)}`,
      resourceVersion: String(this.#version),
      creationTimestamp: new Date(Date.now() - 7_200_000).toISOString(),
      ...object.metadata,
    }
    const whole = { apiVersion: apiVersionOf(resource), kind: resource.kind, spec: {}, ...object, metadata }
    this.#stores.get(resource.plural)?.set(whole)
    this.#tell()
  }

  remove(resource: Resource, key: string): void {
    this.#stores.get(resource.plural)?.delete(key)
    this.#tell()
  }

  of<O extends KubeObject>(resource: Resource<O>): Cache<O> | undefined {
    const store = this.#stores.get(resource.plural) as unknown as WritableStore<O> | undefined
    if (store === undefined) return undefined
    return {
      get size() {
        return store.size
      },
      get: (key) => store.get(key),
      values: () => store.values(),
      subscribe: (changed) => {
        this.#listeners.add(changed)
        return () => this.#listeners.delete(changed)
      },
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

export interface World extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly shelf: Shelf
  readonly fleet: Fleet
  readonly runs: RunHistory
  /** The dashboard alone; the objects stay. */
  stop(): Promise<void>
  /** On the same port. */
  restart(): Promise<void>
}

export interface WorldOptions {
  readonly clock?: Clock
  readonly guard?: Guard
  /** This manager runs no fleet operator. */
  readonly withoutFleet?: boolean
}

export const startWorld = async ({
  clock = systemClock,
  guard,
  withoutFleet = false,
}: WorldOptions = {}): Promise<World> => {
  const shelf = new Shelf()
  const fleet = new Fleet(clock)
  const runs = new RunHistory()
  const sources: Sources = {
    objects: (resource) => shelf.of(resource),
    fleet: () => (withoutFleet ? undefined : fleet),
    runs: () => runs,
  }
  const start = (port: number) =>
    serveDashboard(
      { sources, guard, clock, log: silent, version: '0.0.0-test', assets: undefined },
      { host: '127.0.0.1', port },
      '--dashboard-bind',
    )
  let server = await start(0)
  const { port } = server
  const stop = () => server.stop()
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    shelf,
    fleet,
    runs,
    stop,
    restart: async () => {
      server = await start(port)
    },
    [Symbol.asyncDispose]: stop,
  }
}
