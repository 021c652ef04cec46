/** A pool whose clusters are all there and installed: what a pass over it costs, without any I/O. */
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import type { Namespace } from '#apis/kubernetes.ts'
import { decide } from '#controllers/clusterpool/decide.ts'
import { type PoolObjects, toObserved } from '#controllers/clusterpool/model/observed.ts'
import type { PoolIndexes } from '#controllers/clusterpool/observe/indexes.ts'
import { readPoolObjects } from '#controllers/clusterpool/observe.ts'
import type { Api } from '#operator/index.ts'
import { aCluster, aCustomization, aPool, minutes } from '#test/worlds/clusterpool/builders.ts'
import { firstSources, indexLists } from '#test/worlds/clusterpool/listed.ts'
import { upTo } from '../in-parallel.ts'
import { moment } from '../load/moment.ts'
import { median } from '../measure/statistics.ts'

const WARM_UP = 30
const ROUNDS = 100
const NOW = minutes(60)

export interface Steady {
  /** Milliseconds of observing and planning. */
  readonly plan: number
  /** Milliseconds of a whole pass: looking everything up as well. */
  readonly pass: number
}

/** The medians of many passes. @throws when the pool is not steady: something would be written, or asked for */
export const steady = async (size: number, { inventory }: { readonly inventory: boolean }): Promise<Steady> => {
  const { pool, indexes } = filledPool(size, inventory)
  const readNow = () =>
    readPoolObjects(
      pool,
      { missing: [], imageSet: 'NotServed', template: undefined, secrets: [], readAt: NOW.getTime() },
      firstSources(unusedApi, indexes, NOW),
    )
  const read = await readNow()
  const left = plan(read).actions
  if (left.length > 0) throw new Error(`the pool of ${size} is not steady: ${left.map(({ why }) => why).join('; ')}`)
  const plans: number[] = []
  const passes: number[] = []
  for (const round of upTo(WARM_UP + ROUNDS)) {
    const began = moment()
    const again = await readNow()
    const observed = moment()
    plan(again)
    const ended = moment()
    if (round < WARM_UP) continue
    plans.push(ended - observed)
    passes.push(ended - began)
  }
  return { plan: median(plans), pass: median(passes) }
}

const plan = (read: PoolObjects) => decide(toObserved(read), { now: NOW, suffix: () => 'never' })

/** A pool that has written its status, and all that its caches show. */
const filledPool = (
  size: number,
  hasInventory: boolean,
): { readonly pool: ClusterPool; readonly indexes: PoolIndexes } => {
  const names = upTo(size).map((index) => `c${String(index).padStart(4, '0')}`)
  const pool = aPool({ size, runningCount: size, ...(hasInventory && { inventory: names }) })
  const clusters = names.map((name) => aCluster(name, { pool, ...(hasInventory && { customization: name }) }))
  const customizations = hasInventory ? names.map((name) => aCustomization(name, { cluster: name })) : []
  const read: PoolObjects = { pool, clusters, customizations, claims: [] }
  // The first pass says what all conditions are Unknown, the second what they are.
  const later = withStatus(pool, read)
  return {
    pool: withStatus(later, { ...read, pool: later }),
    indexes: indexLists({ clusters, customizations, namespaces: names.map((name) => namespaceOf(name, pool)) }),
  }
}

const withStatus = (pool: ClusterPool, read: PoolObjects): ClusterPool => {
  const write = plan(read).actions.find((action) => action.action === 'WriteStatus')
  return write === undefined ? pool : { ...pool, status: write.status }
}

/** As the pool made it for a cluster. */
const namespaceOf = (name: string, { metadata: { uid } }: ClusterPool): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  spec: {},
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: '1', labels: { [POOL_LABELS.uid]: uid } },
})

/** A steady pass asks the API server for nothing. */
const unusedApi: Api = new Proxy({} as Api, {
  get: (_, method) => {
    throw new Error(`a steady pass called ${String(method)} of the API`)
  },
})
