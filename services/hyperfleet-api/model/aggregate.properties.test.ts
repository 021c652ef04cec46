import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { at, cluster, report } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import { showStatus } from './interim-report.ts'
import type { Condition, Report } from './resource.ts'

type Cluster = ReturnType<typeof cluster>

const REQUIRED = ['dns', 'validation']
const GENERATIONS = 4

const aReport = (available: readonly ('True' | 'False' | 'Unknown')[], generations = GENERATIONS + 1) =>
  fc
    .record({
      adapter: fc.constantFrom(...REQUIRED, 'extra'),
      available: fc.constantFrom(...available),
      generation: fc.integer({ min: 1, max: generations }),
      second: fc.integer({ min: 0, max: 59 }),
    })
    .map(({ adapter, available, generation, second }) => report(adapter, available, generation, second))

/** One thing that happens to a resource. */
type Step = { readonly says: string; do(one: Cluster): unknown }

const aStep = fc.oneof(
  { weight: 4, arbitrary: aReport(['True', 'False', 'Unknown']).map(reportStep) },
  { weight: 1, arbitrary: fc.constant<Step>({ says: 'update', do: (one) => one.updates() }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...REQUIRED, 'extra')
      .map((adapter): Step => ({ says: `retire ${adapter}`, do: (one) => one.retires(adapter) })),
  },
)

function reportStep(given: Report): Step {
  return {
    says: `${given.adapter} ${given.conditions[0]?.status}@${given.observed_generation} ${given.observed_time}`,
    do: (one) => one.reports(given),
  }
}

/** Holds after every step of every life, with the adapters named and with `reporting`. */
const always = (holds: (one: Cluster, before: readonly Condition[], steps: readonly Step[]) => void) =>
  fc.assert(
    fc.property(
      fc.array(aStep, { maxLength: 40 }),
      fc.constantFrom(REQUIRED, 'reporting' as const),
      (steps, required) => {
        const one = cluster(required)
        for (const [index, step] of steps.entries()) {
          const before = one.conditions()
          step.do(one)
          holds(one, before, steps.slice(0, index + 1))
        }
      },
    ),
  )

const find = (conditions: readonly Condition[], type: string) => conditions.find((condition) => condition.type === type)
const generationOf = (conditions: readonly Condition[], type: string) =>
  find(conditions, type)?.observed_generation ?? 0

describe('after every step', () => {
  // API-13
  test('the generation that Available speaks of has not gone back', () => {
    always((one, before) => {
      expect(generationOf(one.conditions(), 'Available')).toBeGreaterThanOrEqual(generationOf(before, 'Available'))
    })
  })

  test('Available has moved only to a generation of a report, and is True only where a report said so', () => {
    always((one, before, steps) => {
      const now = find(one.conditions(), 'Available')
      if (now === undefined || now.observed_generation === generationOf(before, 'Available')) return
      expect(steps.some(({ says }) => says.includes(` True@${now.observed_generation} `))).toBe(true)
    })
  })

  test('Ready speaks of the current generation', () => {
    always((one) => {
      expect(one.condition('Ready')?.observed_generation).toBe(one.generation())
    })
  })

  test('Ready is True only together with Available, at one generation', () => {
    always((one) => {
      if (one.condition('Ready')?.status === 'True') expect(one.says('Available')).toBe(one.says('Ready'))
    })
  })

  test('no row has gone back to an older generation, or speaks of one to come', () => {
    always((one) => {
      for (const row of one.rows()) expect(row.observed_generation).toBeLessThanOrEqual(one.generation())
    })
    fc.assert(
      fc.property(fc.array(aReport(['True', 'False', 'Unknown'])), (reports) => {
        const one = grown()
        for (const next of reports) {
          const before = new Map(one.rows().map((row) => [row.adapter, row.observed_generation]))
          one.reports(next)
          for (const row of one.rows())
            expect(row.observed_generation).toBeGreaterThanOrEqual(before.get(row.adapter) ?? 1)
        }
      }),
    )
  })

  test('a condition whose status is as before has the transition time it had', () => {
    always((one, before) => {
      for (const condition of one.conditions()) {
        const previous = find(before, condition.type)
        if (previous?.status === condition.status)
          expect(condition.last_transition_time).toBe(previous.last_transition_time)
      }
    })
  })

  test('each type is there once', () => {
    always((one) => {
      const types = one.conditions().map(({ type }) => type)
      expect(new Set(types).size).toBe(types.length)
    })
  })
})

/** A resource that has reached its last generation before the first report comes. */
const grown = (): Cluster => {
  const one = cluster()
  while (one.generation() < GENERATIONS) one.updates()
  return one
}

/** What is known, without the times that tell since when: these tell the order of events and nothing else. */
const known = (one: Cluster, except: readonly string[] = []) => ({
  rows: one.rows().map(({ adapter, observed_generation, conditions, last_report_time }) => ({
    adapter,
    observed_generation,
    conditions: conditions.map(({ type, status }) => ({ type, status })),
    last_report_time,
  })),
  conditions: one
    .conditions()
    .filter(({ type }) => !except.includes(type))
    .map(({ created_time: _created, last_transition_time: _since, ...condition }) => condition),
})

/**
 * Reports that say True or False, and no two of one adapter about one generation at one time: between such two only the
 * order of arrival can decide. Unknown is left out for the same reason: the first of an adapter is stored, later ones
 * are not.
 */
const aSet = (generations?: number) =>
  fc.uniqueArray(aReport(['True', 'False'], generations), {
    maxLength: 12,
    selector: ({ adapter, observed_generation, observed_time }) => `${adapter} ${observed_generation} ${observed_time}`,
  })

const aShuffledSet = (generations?: number) =>
  aSet(generations).chain((reports) =>
    fc.tuple(fc.constant(reports), fc.shuffledSubarray(reports, { minLength: reports.length })),
  )

const AVAILABLE = ['Available', 'LastKnownReconciled']

// API-7
describe('no order of the same reports changes', () => {
  test('the rows, Ready and what is known of each adapter', () => {
    fc.assert(
      fc.property(aShuffledSet(), ([reports, shuffled]) => {
        expect(known(grown().reports(...shuffled), AVAILABLE)).toEqual(known(grown().reports(...reports), AVAILABLE))
      }),
    )
  })

  // API-48
  test('the rows, with Unknown among the reports too, of adapters that have said True or False', () => {
    const aMixedSet = fc
      .uniqueArray(aReport(['True', 'False', 'Unknown']), {
        maxLength: 12,
        selector: (one) => `${one.adapter} ${one.observed_generation} ${one.observed_time}`,
      })
      .chain((reports) => fc.tuple(fc.constant(reports), fc.shuffledSubarray(reports, { minLength: reports.length })))
    const first = [...REQUIRED, 'extra'].map((adapter) => report(adapter, 'False', 1))
    const shown = (reports: readonly Report[]) =>
      grown()
        .reports(...first, ...reports.filter(({ observed_time }) => observed_time !== at(0)))
        .rows()
        .map(showStatus)
        .map(({ conditions, ...row }) => ({
          ...row,
          conditions: conditions.map(({ last_transition_time: _since, ...rest }) => rest),
        }))
    fc.assert(
      fc.property(aMixedSet, ([reports, shuffled]) => {
        expect(shown(shuffled)).toEqual(shown(reports))
      }),
    )
  })

  test('Available either, when all reports are about the generation that it speaks of', () => {
    fc.assert(
      fc.property(aShuffledSet(1), ([reports, shuffled]) => {
        const verdict = (one: Cluster) => one.says('Available')
        expect(verdict(cluster().reports(...shuffled))).toBe(verdict(cluster().reports(...reports)))
      }),
    )
  })

  test('Available either, when in the end all say True of one generation', () => {
    fc.assert(
      fc.property(aShuffledSet(), ([reports, shuffled]) => {
        const last = REQUIRED.map((adapter) => report(adapter, 'True', GENERATIONS, 59))
        const rest = (all: readonly Report[]) => all.filter(({ observed_time }) => observed_time !== at(59))
        const settled = (all: readonly Report[]) => known(grown().reports(...rest(all), ...last))
        expect(settled(shuffled)).toEqual(settled(reports))
        expect(
          grown()
            .reports(...rest(shuffled), ...last)
            .says('Available'),
        ).toBe(`True@${GENERATIONS}`)
      }),
    )
  })

  test('Available remembers: mixed reports leave what was known good, so there the order counts', () => {
    const before = [report('dns', 'True', 1), report('validation', 'True', 1)]
    const newer = report('dns', 'True', 2)
    expect(
      grown()
        .reports(...before, newer)
        .says('Available'),
    ).toBe('True@1')
    expect(
      grown()
        .reports(newer, ...before)
        .says('Available'),
    ).toBe('False@1')
  })
})

describe('nothing changes', () => {
  test('when every report comes twice', () => {
    fc.assert(
      fc.property(fc.array(aReport(['True', 'False', 'Unknown'])), (reports) => {
        const twice = reports.flatMap((one) => [one, one])
        expect(
          grown()
            .reports(...twice)
            .conditions(),
        ).toEqual(
          grown()
            .reports(...reports)
            .conditions(),
        )
      }),
    )
  })

  test('by Unknown, wherever it comes, of an adapter that has said True or False', () => {
    fc.assert(
      fc.property(aSet(), fc.array(aReport(['Unknown'])), (reports, unknown) => {
        const first = REQUIRED.concat('extra').map((adapter) => report(adapter, 'True', 1))
        const one = grown().reports(...first, ...unknown, ...reports, ...unknown)
        expect(one.conditions()).toEqual(
          grown()
            .reports(...first, ...reports)
            .conditions(),
        )
      }),
    )
  })
})
