import { aggregateConditions, buildStatus } from '#services/hyperfleet-api/model/aggregate.ts'
import { applyReport, decideReport } from '#services/hyperfleet-api/model/decide-report.ts'
import type { RequiredAdapters } from '#services/hyperfleet-api/model/entity-config.ts'
import { applyInterimReport } from '#services/hyperfleet-api/model/interim-report.ts'
import type { AdapterStatus, Condition, Report, ReportedStatus } from '#services/hyperfleet-api/model/resource.ts'
import type { Timestamp } from '#services/hyperfleet-api/model/timestamp.ts'

/** Builders for the tests of this folder. */

/** A moment of the first minute of 2026. */
export const at = (second: number): Timestamp => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`

/** `dns says True of generation 2`, all else fine. */
export const report = (adapter: string, available: ReportedStatus, generation: number, second = 0): Report => ({
  adapter,
  observed_generation: generation,
  observed_time: at(second),
  conditions: [
    { type: 'Available', status: available, reason: `Is${available}`, message: `${adapter} says ${available}` },
    { type: 'Applied', status: 'True' },
    { type: 'Health', status: 'True' },
  ],
  data: {},
})

/** The stored row of such a report. */
export const row = (adapter: string, available: ReportedStatus, generation: number, second = 0): AdapterStatus =>
  applyReport(report(adapter, available, generation, second), undefined)

/** A condition as an earlier aggregation left it: `True@2`, since second 1, updated at second 2. */
export const previous = (type: string, says: Says): Condition => {
  const [status, generation] = says.split('@') as ['True' | 'False', string]
  return {
    type,
    status,
    reason: 'Before',
    message: 'as it was',
    observed_generation: Number(generation),
    created_time: at(0),
    last_updated_time: at(2),
    last_transition_time: at(1),
  }
}

/** Status and generation, as the rules of docs/spec/hyperfleet-api.md need them: `True@2`. */
export type Says = `${'True' | 'False'}@${number}`

export const saysOf = ({ status, observed_generation }: Pick<Condition, 'status' | 'observed_generation'>): Says =>
  `${status}@${observed_generation}`

/** A resource as the service keeps it, one step after another, with nothing around it. */
export const cluster = (required: RequiredAdapters = ['dns', 'validation']) => {
  let resource = { generation: 1, updated_time: at(0), deleted_time: undefined as Timestamp | undefined }
  let rows: readonly AdapterStatus[] = []
  let conditions: readonly Condition[] = []
  const recompute = () => {
    conditions = aggregateConditions({ resource, rows, required, previous: conditions, hasChildren: false })
  }
  recompute()
  const self = {
    updates: (second = 0) => {
      resource = { ...resource, generation: resource.generation + 1, updated_time: at(second) }
      recompute()
      return self
    },
    deletes: (second = 0) => {
      resource = { ...resource, deleted_time: at(second) }
      return self.updates(second)
    },
    reports: (...incoming: readonly Report[]) => {
      for (const one of incoming) {
        const stored = rows.find(({ adapter }) => adapter === one.adapter)
        const verdict = decideReport(one, resource, stored)
        if (verdict.decision !== 'store' && verdict.decision !== 'interim') continue
        const next = verdict.decision === 'interim' ? applyInterimReport(one, verdict.stored) : applyReport(one, stored)
        rows = [...rows.filter((other) => other !== stored), next]
        recompute()
      }
      return self
    },
    retires: (adapter: string) => {
      rows = rows.filter((other) => other.adapter !== adapter)
      recompute()
      return self
    },
    generation: () => resource.generation,
    rows: () => rows.toSorted((a, b) => (a.adapter < b.adapter ? -1 : 1)),
    conditions: () => conditions,
    condition: (type: string) => conditions.find((condition) => condition.type === type),
    says: (type: string): Says | undefined => {
      const condition = self.condition(type)
      return condition && saysOf(condition)
    },
    phase: () => buildStatus(resource, conditions, undefined).phase,
  }
  return self
}

/** Ready and Available at generation 1. */
export const readyCluster = () => cluster().reports(report('dns', 'True', 1), report('validation', 'True', 1))
