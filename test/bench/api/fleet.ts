/** The clusters that a bench of the API asks about. */
import type { BenchContext } from '../definition.ts'
import { inParallel, upTo } from '../in-parallel.ts'
import { IN_FLIGHT, type Load } from './load.ts'

export const REGIONS = 20

interface Cluster {
  readonly id: string
}

export interface Fleet {
  /** One of them; any number chooses. */
  at(n: number): Cluster
  /** A draft with a name that is not taken. */
  newDraft(): object
  /** Makes it this large; all but one cluster in a hundred are reported ready. */
  growTo(size: number): Promise<void>
}

export const createFleet = (load: Load, { say }: Pick<BenchContext, 'say'>): Fleet => {
  const clusters: Cluster[] = []
  let drafts = 0
  const newDraft = () => draft(drafts++)
  const at = (n: number): Cluster => clusters[n % clusters.length] ?? { id: 'nobody' }
  return {
    at,
    newDraft,
    growTo: async (size) => {
      const before = clusters.length
      say(`creating clusters, ${size} in all`)
      const made = await inParallel(upTo(size - before), IN_FLIGHT, async () => {
        const { id } = (await load.request({ method: 'POST', path: '/clusters', body: newDraft() })) as Cluster
        return { id }
      })
      clusters.push(...made)
      say('reporting them ready')
      const ready = made.filter((_cluster, index) => index % 100 !== 0)
      await inParallel(ready, IN_FLIGHT, ({ id }) =>
        load.request({ method: 'PUT', path: `/clusters/${id}/statuses`, body: report('dns', 0) }),
      )
    },
  }
}

/** A spec of the size that a cluster has in the field, about 1.3 KB. */
export const specOf = (n: number): object => ({
  release: `4.2${n % 10}.0`,
  region: { name: `region-${n % REGIONS}`, zones: ['a', 'b', 'c'] },
  networking: { pods: '10.128.0.0/14', services: '172.30.0.0/16', hostPrefix: 23 },
  note: 'x'.repeat(1_000),
})

const draft = (n: number): object => ({
  name: `c-${n}`,
  labels: { region: `region-${n % REGIONS}`, stage: n % 3 === 0 ? 'prod' : 'test' },
  spec: specOf(n),
})

export const report = (adapter: string, n: number): object => ({
  adapter,
  observed_generation: 1,
  conditions: ['Available', 'Applied', 'Health'].map((type) => ({ type, status: 'True', reason: `Seen${n % 2}` })),
})
