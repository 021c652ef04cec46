import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aggregate, statusOf } from './aggregate.ts'
import type { RequiredAdapters } from './entity.ts'
import { applyReport, judgeReport } from './report.ts'
import type { AdapterStatus, Condition, Report, ReportedStatus } from './resource.ts'

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000000Z`

const report = (adapter: string, generation: number, available: ReportedStatus, second = 0): Report => ({
  adapter,
  observed_generation: generation,
  observed_time: at(second),
  conditions: [
    { type: 'Available', status: available },
    { type: 'Applied', status: 'True' },
    { type: 'Health', status: 'True' },
  ],
  data: {},
})

/** A resource as the service keeps it, one step after another, with nothing around it. */
const cluster = (required: RequiredAdapters = ['dns', 'validation']) => {
  let resource = { generation: 1, updated_time: at(0) as string, deleted_time: undefined as string | undefined }
  let rows: AdapterStatus[] = []
  let conditions: Condition[] = []
  const settle = () => {
    conditions = aggregate({ resource, rows, required, previous: conditions, hasChildren: false })
  }
  settle()
  const self = {
    updates: (second = 0) => {
      resource = { ...resource, generation: resource.generation + 1, updated_time: at(second) }
      settle()
      return self
    },
    deletes: (second = 0) => {
      resource = { ...resource, deleted_time: at(second) }
      return self.updates(second)
    },
    reports: (incoming: Report) => {
      const stored = rows.find(({ adapter }) => adapter === incoming.adapter)
      const verdict = judgeReport(incoming, resource, stored)
      if (verdict.decision !== 'store') return self
      rows = [...rows.filter((row) => row !== stored), applyReport(incoming, stored)]
      if (verdict.aggregate) settle()
      return self
    },
    condition: (type: string) => conditions.find((condition) => condition.type === type),
    conditions: () => conditions,
    says: (type: string) => {
      const { status, observed_generation } = conditions.find((condition) => condition.type === type) ?? {}
      return `${status}@${observed_generation}`
    },
    phase: () => statusOf(resource, conditions, undefined).phase,
  }
  return self
}

const ready = () =>
  cluster()
    .reports(report('dns', 1, 'True'))
    .reports(report('validation', 1, 'True'))

describe('the use cases of pulses-and-status', () => {
  test('1: an adapter task in progress reports Available=Unknown, and the cluster stays Ready at generation 1', () => {
    const one = ready()
    const before = one.conditions()
    one.reports(report('dns', 1, 'Unknown', 30))
    expect(one.conditions()).toEqual(before)
    expect(one.phase()).toBe('Ready')
  })

  test('2: mixed generations: Ready is False right after the update, Available stays True at generation 1', () => {
    const one = ready().updates()
    expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'True@1'])
    one.reports(report('dns', 2, 'True'))
    expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'True@1'])
    one.reports(report('validation', 2, 'True'))
    expect([one.says('Ready'), one.says('Available')]).toEqual(['True@2', 'True@2'])
  })

  test('3: Available that was lost at generation 1 stays False there while reports of generation 2 are mixed', () => {
    const one = ready().reports(report('dns', 1, 'False', 1))
    expect([one.says('Ready'), one.says('Available')]).toEqual(['False@1', 'False@1'])
    one.updates().reports(report('dns', 2, 'True', 2))
    expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'False@1'])
  })
})

describe('Available', () => {
  test('becomes True at an older generation when all adapters agree on it', () => {
    const one = cluster()
      .updates()
      .reports(report('dns', 1, 'True'))
      .reports(report('validation', 1, 'True'))
    expect([one.says('Available'), one.says('Ready')]).toEqual(['True@1', 'False@2'])
  })

  test('is not lost by a False report at another generation', () => {
    const one = ready()
      .updates()
      .reports(report('dns', 2, 'False', 1))
    expect(one.says('Available')).toBe('True@1')
  })

  test('is lost by a False report at its own generation, also after an update', () => {
    const one = ready()
      .updates()
      .reports(report('dns', 1, 'False', 1))
    expect(one.says('Available')).toBe('False@1')
    expect(one.condition('Available')).toMatchObject({
      reason: 'AdapterReportedNotAvailable',
      last_transition_time: at(1),
    })
  })

  test('is not touched by an adapter that is not required', () => {
    expect(
      ready()
        .reports(report('extra', 1, 'False', 1))
        .says('Available'),
    ).toBe('True@1')
  })

  test('says why it is False: missing reports, mixed generations', () => {
    const one = cluster()
    expect(one.condition('Available')?.reason).toBe('AdaptersMissingReports')
    one
      .reports(report('dns', 1, 'True'))
      .updates()
      .reports(report('validation', 2, 'True'))
    expect(one.condition('Available')?.reason).toBe('AdaptersNotAtSameGeneration')
  })
})

describe('Ready', () => {
  test('carries the oldest report of the current generation, the Sentinel’s clock', () => {
    const one = cluster()
      .reports(report('dns', 1, 'True', 20))
      .reports(report('validation', 1, 'True', 10))
    expect(one.condition('Ready')?.last_updated_time).toBe(at(10))
    one.reports(report('validation', 1, 'True', 40))
    expect(one.condition('Ready')?.last_updated_time).toBe(at(20))
  })

  test('that an update takes away went at the moment of the update', () => {
    const one = ready().updates(30)
    expect(one.condition('Ready')).toMatchObject({ last_transition_time: at(30), last_updated_time: at(30) })
  })

  test('is False with reason Deleting while deleting, whatever is reported', () => {
    const one = ready()
      .deletes(5)
      .reports(report('dns', 2, 'True', 6))
      .reports(report('validation', 2, 'True', 6))
    expect(one.condition('Ready')).toMatchObject({ status: 'False', reason: 'Deleting' })
    expect(one.phase()).toBe('Deleting')
  })

  test('names the adapters that are missing and those that are there', () => {
    expect(
      cluster()
        .reports(report('dns', 1, 'True'))
        .condition('Ready')?.message,
    ).toBe('Required adapters not reporting Available=True: [validation]. Currently reporting: [dns]')
  })
})

test('Reconciled and LastKnownReconciled say the same as Ready and Available', () => {
  const one = ready()
    .updates()
    .reports(report('dns', 2, 'False', 3))
  for (const [ours, peers] of [
    ['Ready', 'Reconciled'],
    ['Available', 'LastKnownReconciled'],
  ] as const)
    expect({ ...one.condition(ours), type: '' }).toEqual({ ...one.condition(peers), type: '' })
})

test('each required adapter has a condition of its own, named after it', () => {
  const one = cluster(['pull-secret', 'dns'])
    .reports(report('pull-secret', 1, 'False', 3))
    .reports(report('extra', 1, 'True'))
  expect(one.says('PullSecretSuccessful')).toBe('False@1')
  expect(one.condition('DnsSuccessful')).toBeUndefined()
  expect(one.condition('ExtraSuccessful')).toBeUndefined()
})

test('a kind that requires no adapter has no conditions and is Ready', () => {
  const one = cluster([])
  expect([one.conditions(), one.phase()]).toEqual([[], 'Ready'])
})

test('with required_adapters: reporting, those that have reported must agree, and there must be one', () => {
  const one = cluster('reporting')
  expect([one.phase(), one.condition('Ready')?.message]).toEqual(['NotReady', 'No adapter has reported yet'])
  expect(one.reports(report('dns', 1, 'True')).phase()).toBe('Ready')
  expect(one.reports(report('other', 1, 'False', 1)).phase()).toBe('NotReady')
})

describe('properties', () => {
  const ADAPTERS = ['dns', 'validation', 'extra']
  const step = fc.oneof(
    fc.constant({ type: 'update' } as const),
    fc.record({
      type: fc.constant('report' as const),
      adapter: fc.constantFrom(...ADAPTERS),
      generation: fc.integer({ min: 1, max: 6 }),
      available: fc.constantFrom('True' as const, 'False' as const, 'Unknown' as const),
      second: fc.integer({ min: 0, max: 59 }),
    }),
  )
  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
  const run = (one: ReturnType<typeof cluster>, steps: readonly Step[], each: () => void = () => {}) => {
    for (const next of steps) {
      if (next.type === 'update') one.updates()
      else one.reports(report(next.adapter, next.generation, next.available, next.second))
      each()
    }
    return one
  }
  const generationOf = (one: ReturnType<typeof cluster>, type: string) => one.condition(type)?.observed_generation ?? 0

  test('the generation that Available speaks of never goes back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const one = cluster()
        let last = 0
        run(one, steps, () => {
          expect(generationOf(one, 'Available')).toBeGreaterThanOrEqual(last)
          last = generationOf(one, 'Available')
        })
      }),
    )
  })

  test('Available is True only at a generation of which every required adapter has reported', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const one = run(cluster(), steps)
        if (one.condition('Available')?.status !== 'True') return
        const generation = generationOf(one, 'Available')
        for (const adapter of ['dns', 'validation'])
          expect(
            steps.some(
              (said) =>
                said.type === 'report' &&
                said.adapter === adapter &&
                said.generation === generation &&
                said.available === 'True',
            ),
          ).toBe(true)
      }),
    )
  })

  test('Ready implies Available at the same generation', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const one = run(cluster(), steps)
        if (one.condition('Ready')?.status === 'True') expect(one.says('Available')).toBe(one.says('Ready'))
      }),
    )
  })

  test('once every required adapter says True of the current generation, what came before doesn’t matter', () => {
    const names = fc.shuffledSubarray(['dns', 'validation'], { minLength: 2 })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), names, (steps, order) => {
        const one = run(cluster(), steps).updates()
        const current = generationOf(one, 'Ready')
        for (const adapter of order) one.reports(report(adapter, current, 'True', 59))
        expect([one.says('Ready'), one.says('Available')]).toEqual([`True@${current}`, `True@${current}`])
      }),
    )
  })

  test('a status that does not change keeps its transition time', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const one = cluster()
        let before = one.conditions()
        run(one, steps, () => {
          for (const condition of one.conditions()) {
            const previous = before.find(({ type }) => type === condition.type)
            if (previous?.status === condition.status)
              expect(condition.last_transition_time).toBe(previous.last_transition_time)
          }
          before = one.conditions()
        })
      }),
    )
  })
})
