import { type ManualClock, manualClock } from '#test/harness/index.ts'
import { type DatabaseChoice, type Json, serve, type TestApi } from './support.ts'

/**
 * Kinds three levels deep, each with an adapter of its own: a cluster, its pools (deleted with it), their machines
 * (deleted with them), and locks, which forbid the deletion of a pool that has one.
 */
export const entities = [
  { kind: 'Cluster', plural: 'clusters', required_adapters: ['dns'] },
  { kind: 'NodePool', plural: 'nodepools', parent_kind: 'Cluster', required_adapters: ['pools'] },
  { kind: 'Machine', plural: 'machines', parent_kind: 'NodePool', required_adapters: ['machines'] },
  { kind: 'Lock', plural: 'locks', parent_kind: 'NodePool', on_parent_delete: 'restrict' as const },
]

/** Says that an adapter has cleaned up, either way that counts. */
export const cleanedUp = { observed_generation: 2, available: 'False', applied: 'False', health: 'True' } as const
export const finalized = { observed_generation: 2, available: 'False', finalized: 'True' } as const

export interface Family {
  readonly api: TestApi
  readonly clock: ManualClock
  /** Paths of the records. */
  readonly cluster: string
  readonly pool: string
  readonly machine: string
  read(path: string): Promise<Json>
  /** Status codes of the records, from the cluster down. */
  codes(): Promise<readonly number[]>
}

/** A server with one record on each level, none of them known to an adapter. */
export const raiseFamily = async (choice: DatabaseChoice): Promise<Family> => {
  const clock = manualClock()
  const api = await serve({ ...choice, entities }, clock)
  const make = async (path: string, name: string) => (await api.call('POST', path, { name, spec: {} })).body.id
  const cluster = `/clusters/${await make('/clusters', 'one')}`
  const pool = `/nodepools/${await make(`${cluster}/nodepools`, 'pool')}`
  const machine = `/machines/${await make(`${pool}/machines`, 'machine')}`
  const read = async (path: string) => (await api.call('GET', path)).body
  return {
    api,
    clock,
    cluster,
    pool,
    machine,
    read,
    codes: async () => {
      const answers = await Promise.all([cluster, pool, machine].map((path) => api.call('GET', path)))
      return answers.map(({ status }) => status)
    },
  }
}
