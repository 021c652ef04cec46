import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { conditionsOf, configMap, runWorld } from '#test/worlds/adapter/run-world.ts'
import { taskLanguages } from '../language/task-languages.ts'
import { Compiler } from '../task/compile/compiler.ts'
import { VariableNames } from '../task/compile/variable-names.ts'
import { ProblemList } from '../task/task-problems.ts'
import { BUDGET, RUN_LIMITS, RunBudget } from './run-budget.ts'

/** About 800,000 steps: less than an expression may take. */
const COSTLY = 'lists.range(900).all(a, lists.range(150).all(b, b >= 0))'
const costlyParams = (count: number, rest: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ name: `p${at}`, source: { expression: COSTLY }, ...rest }))

describe('ADAPTER-84: what all texts of one run may use together', () => {
  test('expressions that are each within their limits are too much together: the field and the limit are reported, nothing is applied', async () => {
    const world = runWorld({ params: costlyParams(30), resources: [configMap('a')] })
    const { trace, isReported } = await world.run()
    expect(isReported).toBe(true)
    expect(world.done()).toEqual([])
    expect(trace.failures).toMatchObject([{ phase: 'params', reason: 'BudgetExceeded' }])
    expect(trace.failures[0]?.message).toMatch(
      /^params\[\d+\]\.source\.expression: all templates, expressions and paths of one run together take more than (10000000 steps|5000 ms)/,
    )
    expect(conditionsOf(world.reports()[0])).toContain('Health False BudgetExceeded')
  })

  test('no default stands for what exceeds it', async () => {
    const world = runWorld({ params: costlyParams(30, { default: true }), resources: [configMap('a')] })
    const { trace } = await world.run()
    expect(trace.failures).toMatchObject([{ phase: 'params', reason: 'BudgetExceeded' }])
    expect(world.done()).toEqual([])
  })

  test('other work of the process goes on between the texts of a costly run', async () => {
    let turns = 0
    let isDone = false
    const takeTurn = () => {
      turns++
      if (!isDone) setImmediate(takeTurn)
    }
    setImmediate(takeTurn)
    const { trace } = await runWorld({ params: costlyParams(5) }).run()
    isDone = true
    expect(trace.status).toBe('success')
    expect(turns).toBeGreaterThanOrEqual(4)
  })

  test('the next run has a budget of its own', async () => {
    const world = runWorld({ params: costlyParams(5), resources: [configMap('a')] })
    for (const _ of [1, 2]) expect((await world.run()).trace.status).toBe('success')
  })

  test('the time of evaluations counts, and not that of what is between them', () => {
    let now = 0
    const budget = new RunBudget(RUN_LIMITS, () => now)
    for (let at = 0; at < 5; at++) {
      budget.evaluate('a', () => {
        now += 1_000
      })
      now += 60_000
    }
    expect(() => budget.evaluate('b', () => (now += 1))).toThrow('b: all templates')
    expect(() => budget.evaluate('c', () => 'cheap')).toThrow('more than 5000 ms')
  })

  const names = new VariableNames(['items'])
  const compiler = new Compiler(
    taskLanguages(() => new Date(0)),
    new ProblemList(),
    names,
  )
  const items = Array.from({ length: 60 }, (_, at) => ({ name: `item-${at}`, tags: ['a', 'b'] }))
  const text = fc.oneof(
    fc.constantFrom(
      'items.map(i, i.name)',
      'items.filter(i, "a" in i.tags).size()',
      'items.all(i, items.exists(j, j.name == i.name))',
      'items[0].name.matches("i.*0")',
    ),
    fc
      .constantFrom(
        '{{ range .items }}{{ .name }} {{ end }}',
        '{{ range $i, $e := .items }}{{ range $.items }}x{{ end }}{{ end }}',
        '{{ (index .items 0).name | upper }}',
      )
      .map((template) => `T${template}`),
    fc
      .constantFrom(
        '{.items[*].name}',
        '{$..name}',
        '{$.items[?(@.tags[0]=="b")].name}',
        '{$.items[?count($..name)>50]}',
        '{$.items[?match(@.name, "item-(1|2)+")].name}',
        '{$..[?(@ == $.items)]}',
      )
      .map((path) => `P${path}`),
  )
  const evaluate = (each: string, budget: RunBudget): unknown => {
    const scope = { [BUDGET]: budget, items }
    if (each.startsWith('T')) return compiler.template('t', each.slice(1), names).render(scope)
    if (each.startsWith('P')) return compiler.path('p', each.slice(1)).take(scope, scope)
    return compiler.expression('e', each, names).evaluate(scope)
  }

  test('whatever the texts and their order: the run ends exactly when they take more than the limit, and soon after it', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 12 }), (texts) => {
        const limits = { steps: 60_000, chars: 6_000, timeMs: Number.POSITIVE_INFINITY }
        const alone = texts.map((each) => {
          const budget = new RunBudget({ ...limits, steps: 1e9, chars: 1e9 })
          evaluate(each, budget)
          return budget.used
        })
        const sum = (of: 'steps' | 'chars') => alone.reduce((total, used) => total + used[of], 0)
        const together = new RunBudget(limits)
        const outcome = (() => {
          try {
            for (const each of texts) evaluate(each, together)
            return 'done'
          } catch (error) {
            return error
          }
        })()
        if (sum('steps') <= limits.steps && sum('chars') <= limits.chars) expect(outcome).toBe('done')
        else expect(outcome).toMatchObject({ reason: 'BudgetExceeded' })
        expect(together.used.steps).toBeLessThan(limits.steps + 5_000)
        expect(together.used.chars).toBeLessThan(limits.chars + 4_000)
        if (outcome !== 'done') expect(() => evaluate('1 + 1', together)).toThrow('together take more than')
      }),
      { numRuns: 60 },
    )
  })

  test.each(['{$..a..b..c}', '{$..[?count($..[?count($..*)>0])>9999]}', '{$.list[?count($.list[?(@ == $.none)])>0]}'])(
    'a path that looks at much and finds nothing ends by its steps: %s',
    (path) => {
      let document: unknown = {}
      for (let at = 0; at < 14; at++) document = { a: document, b: [document] }
      const list = Array.from({ length: 2_000 }, (_, at) => ({ at }))
      const budget = new RunBudget()
      expect(() => compiler.path('p', path).take({ document, list }, { [BUDGET]: budget })).toThrow(
        'takes more than 2000000 steps',
      )
      expect(budget.used.steps).toBeLessThan(2_100_000)
    },
  )
})
