import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ComparedTask, compareRequired, judgeAmong, judgeTask, type KindRequirement } from './compare-required.ts'
import { parseKinds } from './parse-kinds.ts'

const task = (adapter: string, more: Partial<ComparedTask> = {}): ComparedTask => ({
  adapter,
  resourceType: 'clusters',
  notRequired: undefined,
  isOfThisApi: true,
  ...more,
})

const kind = (requiredAdapters: KindRequirement['requiredAdapters']): KindRequirement => ({
  kind: 'Cluster',
  plural: 'clusters',
  requiredAdapters,
})

// ADAPTER-99
test('an adapter is done by a task of its name, its type and its API; what runs elsewhere is not looked for', () => {
  const without = (tasks: readonly ComparedTask[], elsewhere: readonly string[] = []) =>
    compareRequired([kind(['dns', 'net'])], tasks, elsewhere)
      .adapters.filter(({ hasTask }) => !hasTask)
      .map(({ adapter }) => adapter)
  expect(without([task('dns'), task('net')])).toEqual([])
  expect(without([task('dns', { resourceType: 'nodepools' }), task('net', { isOfThisApi: false })])).toEqual([
    'dns',
    'net',
  ])
  expect(without([task('dns')], ['net'])).toEqual([])
})

// ADAPTER-100
describe('a task', () => {
  test.each([
    ['is required', kind(['dns']), {}, 'True', 'Required'],
    ['counts only once it has reported', kind('reporting'), {}, 'Unknown', 'EveryReportCounts'],
    [
      'counts when it reports, as is meant',
      kind('reporting'),
      { notRequired: 'each has others' },
      'False',
      'NotMeantToBe',
    ],
    ['is of an undecided kind', kind('undecided'), {}, 'False', 'RequiredAdaptersUndecided'],
    ['is not required', kind([]), {}, 'False', 'NotRequired'],
    ['is not meant to be', kind([]), { notRequired: 'it only counts' }, 'False', 'NotMeantToBe'],
    ['is of another type', kind(['dns']), { resourceType: 'machines' }, 'False', 'UnknownResourceType'],
    ['is of another API', kind(['dns']), { isOfThisApi: false }, 'Unknown', 'OtherAPI'],
  ] as const)('%s', (_, required, more, status, reason) => {
    expect(judgeTask(task('dns', more), [required])).toMatchObject({ status, reason })
  })

  test.each(['reporting', 'undecided', []] as const)(
    'with required_adapters: %j is told, with what to write',
    (said) => {
      const required = [kind(said)]
      expect(judgeTask(task('dns'), required).message).toContain('write dns in required_adapters of Cluster')
      expect(compareRequired(required, [task('dns')], []).tasks).toMatchObject([{ isForgotten: true }])
      expect(compareRequired(required, [task('dns', { notRequired: 'meant' })], []).tasks).toMatchObject([
        { isForgotten: false },
      ])
    },
  )

  // ADAPTER-135
  test('that is required tells of others of its type that no task does, unless they run elsewhere', () => {
    const judge = (elsewhere: readonly string[]) =>
      judgeAmong(task('dns'), [kind(['dns', 'net'])], [task('dns')], elsewhere, '')
    expect(judge(['net'])).toMatchObject({ status: 'True', reason: 'Required' })
    expect(judge([])).toMatchInlineSnapshot(`
      {
        "message": "no Cluster becomes Ready: each waits for net too, which no task does; add it, or take it out of required_adapters of Cluster",
        "reason": "OthersHaveNoTask",
        "status": "True",
      }
    `)
  })

  test('of an API that said nothing is unknown, with why', () => {
    expect(judgeTask(task('dns'), undefined, '403: no')).toEqual({
      status: 'Unknown',
      reason: 'APINotAsked',
      message: '403: no',
    })
  })
})

// ADAPTER-99, ADAPTER-100
test('no adapter is both missing and done, and each task that is required is one that is looked for', () => {
  const name = fc.constantFrom('dns', 'net', 'vpc')
  const plural = fc.constantFrom('clusters', 'nodepools')
  const kinds = fc.uniqueArray(
    fc.record({
      kind: fc.constant('Kind'),
      plural,
      requiredAdapters: fc.oneof(fc.constantFrom('reporting' as const, 'undecided' as const), fc.uniqueArray(name)),
    }),
    { selector: (one) => one.plural },
  )
  const tasks = fc.array(
    fc.record({
      adapter: name,
      resourceType: plural,
      notRequired: fc.option(fc.constant('meant'), { nil: undefined }),
      isOfThisApi: fc.boolean(),
    }),
  )
  fc.assert(
    fc.property(kinds, tasks, (required, present) => {
      const { adapters, tasks: compared } = compareRequired(required, present, [])
      const wanted = required.flatMap(({ requiredAdapters: all }) => (typeof all === 'string' ? [] : all))
      expect(adapters).toHaveLength(wanted.length)
      present.forEach((one, i) => {
        const found = adapters.find(({ adapter, resourceType }) => {
          return adapter === one.adapter && resourceType === one.resourceType
        })
        const { status, reason } = judgeTask(one, required)
        if (one.isOfThisApi && found !== undefined) expect([found.hasTask, reason]).toEqual([true, 'Required'])
        if (status === 'True') expect(compared[i]?.isForgotten).toBe(false)
        if (one.isOfThisApi && found === undefined) expect(reason).not.toBe('Required')
      })
    }),
  )
})

// API-100
test.each([
  [{}, 'it holds no list "items"'],
  [{ items: [{ kind: 'Cluster' }] }, 'a kind has no name'],
  [{ items: [{ kind: 'Cluster', plural: 'clusters', required_adapters: 'all' }] }, 'is no list of names'],
])('an answer that is none is refused: %j', (answer, problem) => {
  expect(() => parseKinds(answer)).toThrow(problem)
})
