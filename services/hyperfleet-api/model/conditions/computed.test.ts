import { describe, expect, test } from 'vitest'
import { at, previous, row } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import type { ConditionRule, EntityConfig } from '../entity-config.ts'
import type { AdapterStatus, Condition, JsonObject, Resource } from '../resource.ts'
import { compileConditions } from './compile-rules.ts'
import { computeConditions } from './computed.ts'

/** `ZoneReady`, with the parts given and the others plain. */
const rule = ({
  when = 'true',
  status = '"True"',
  reason = '"Fine"',
  message = '"all fine"',
  type = 'ZoneReady',
} = {}): ConditionRule => ({
  type,
  when: { expression: when },
  output: { status: { expression: status }, reason: { expression: reason }, message: { expression: message } },
})

const kind = (
  conditions: readonly ConditionRule[],
  required_adapters: EntityConfig['required_adapters'] = ['dns'],
) => ({
  kind: 'Cluster',
  plural: 'clusters',
  required_adapters,
  conditions,
})

const resource: Resource = {
  id: 'id',
  kind: 'Cluster',
  name: 'one',
  href: '/clusters/id',
  labels: { region: 'eu' },
  spec: { replicas: 3 },
  generation: 2,
  created_time: at(0),
  updated_time: at(10),
  created_by: 'me',
  updated_by: 'me',
  tenancy: {},
  status: { phase: 'Ready', conditions: [previous('Ready', 'True@2')] },
}

const compute = (
  parts: Parameters<typeof rule>[0],
  rows: readonly AdapterStatus[] = [],
  before: readonly Condition[] = [],
): Condition | undefined => computeConditions(compileConditions(kind([rule(parts)])), resource, rows, before)[0]

const reportOf = (adapter: string, data: JsonObject, second = 20): AdapterStatus => ({
  ...row(adapter, 'True', 2, second),
  data,
})

describe('a rule', () => {
  test('adds a condition of the current generation, as new as its newest fact', () => {
    expect(compute({}, [row('dns', 'True', 2, 20), row('late', 'True', 1, 15)])).toEqual({
      type: 'ZoneReady',
      status: 'True',
      reason: 'Fine',
      message: 'all fine',
      observed_generation: 2,
      created_time: at(10),
      last_updated_time: at(20),
      last_transition_time: at(20),
    })
    expect(compute({})?.last_updated_time).toBe(at(10))
  })

  test('whose `when` is false adds none, and takes away what was there', () => {
    expect(compute({ when: 'statuses.exists(s, s.adapter == "dns")' }, [], [previous('ZoneReady', 'True@1')])).toBe(
      undefined,
    )
  })

  test.each<[string, string, readonly AdapterStatus[], string]>([
    [
      'an adapter’s condition',
      'statuses.filter(s, s.adapter == "dns")[0].conditions.filter(c, c.type == "Available")[0].message',
      [row('dns', 'False', 2)],
      'dns says False',
    ],
    ['an adapter’s data', 'string(statuses[0].data.quota.left)', [reportOf('gcp', { quota: { left: 7 } })], '7'],
    ['what may be absent', 'statuses[0].?data.?quota.orValue("none")', [reportOf('gcp', {})], 'none'],
    ['a path, by dig', 'dig(statuses[0].data, "zones.1.name")', [reportOf('a', { zones: [{}, { name: 'b' }] })], 'b'],
    ['a path to nowhere, by dig', 'string(dig(statuses[0].data, "a.b.0.c") == null)', [reportOf('a', {})], 'true'],
    ['JSON, by toJson', 'toJson(statuses[0].data)', [reportOf('a', { n: [1, 'x'] })], '{"n":[1,"x"]}'],
    ['the resource', 'resource.labels.region + string(resource.spec.replicas)', [], 'eu3'],
    ['what was aggregated', 'resource.status.conditions[0].type', [], 'Ready'],
    [
      'adapters in the order of names',
      'statuses.map(s, s.adapter).join()',
      [row('b', 'True', 2), row('a', 'True', 2)],
      'ab',
    ],
    ['no reason as an empty one', 'statuses[0].conditions[1].reason', [row('dns', 'True', 2)], ''],
    [
      // The Go service's guide says so; its code hides the whole adapter.
      'only what is True or False',
      'statuses[0].conditions.map(c, c.type).join(",")',
      [row('dns', 'Unknown', 2)],
      'Applied,Health',
    ],
  ])('sees %s', (_case, message, rows, expected) => {
    expect(compute({ message }, rows)?.message).toBe(expected)
  })

  test.each([
    ['"True"', 'True'],
    ['"false"', 'False'],
    ['"TRUE"', 'True'],
  ])('with status %s says %s', (status, expected) => {
    expect(compute({ status })?.status).toBe(expected)
  })

  test('whose message is long is cut at 2048 characters, between characters', () => {
    expect(compute({ message: `"${'x'.repeat(3000)}"` })?.message).toBe('x'.repeat(2048))
    expect(compute({ message: `"${'x'.repeat(2047)}😀"` })?.message).toBe('x'.repeat(2047))
  })

  test('keeps since when its status holds, and changes it with the newest fact', () => {
    const rows = [row('dns', 'True', 2, 20)]
    const times = (was: Condition) => compute({}, rows, [was])
    expect(times(previous('ZoneReady', 'True@1'))).toMatchObject({ created_time: at(0), last_transition_time: at(1) })
    expect(times(previous('ZoneReady', 'False@2'))).toMatchObject({ last_transition_time: at(20) })
  })
})

// API-21
describe('a rule that fails', () => {
  const failures: [string, Parameters<typeof rule>[0], string][] = [
    ['in `when`', { when: 'statuses[0].adapter == "dns"' }, 'when has no value'],
    ['in the status', { status: 'statuses[0].data.ready' }, 'status has no value'],
    ['in the reason', { reason: 'statuses[0].adapter' }, 'reason has no value'],
    ['in the message', { message: 'statuses[0].adapter' }, 'message has no value'],
    ['with `when` that is neither true nor false', { when: 'resource.name' }, 'when gives "one", it must be'],
    ['with a status that is none', { status: '"Maybe"' }, 'status gives "Maybe", it must be "True" or "False"'],
    ['with a status that is a number', { status: 'resource.generation' }, 'status gives 2'],
    ['with a long reason', { reason: `"${'é'.repeat(129)}"` }, 'reason gives more than 256 bytes'],
    ['with a reason that is no text', { reason: 'resource.spec' }, 'reason gives {"replicas":3}, it must be text'],
    ['with a message that is no text', { message: 'resource.generation' }, 'message gives 2, it must be text'],
  ]

  test.each(failures)('%s keeps the status, generation and times that it had, and says so', (_case, parts, message) => {
    const was = previous('ZoneReady', 'True@1')
    const condition = compute(parts, [], [was])
    expect(condition).toEqual({ ...was, reason: 'EvaluationFailed', message: expect.stringContaining(message) })
  })

  test('with nothing to keep is False, and says so', () => {
    expect(compute({ status: 'statuses[0].data.ready' })).toMatchObject({
      status: 'False',
      reason: 'EvaluationFailed',
      observed_generation: 2,
      message: expect.stringContaining('at line 1, column'),
    })
  })

  test('without end is stopped', () => {
    const many = 'resource.spec.many.all(a, resource.spec.many.all(b, resource.spec.many.all(c, a + b + c >= 0)))'
    const large = { ...resource, spec: { many: Array.from({ length: 200 }, (_, n) => n) } }
    const [condition] = computeConditions(compileConditions(kind([rule({ when: many })])), large, [], [])
    expect(condition).toMatchObject({ reason: 'EvaluationFailed', message: expect.stringContaining('steps') })
  })

  test('leaves the other rules alone', () => {
    const rules = compileConditions(kind([rule({ type: 'Broken', when: 'statuses[0].x' }), rule()]))
    expect(computeConditions(rules, resource, [], []).map(({ type, reason }) => [type, reason])).toEqual([
      ['Broken', 'EvaluationFailed'],
      ['ZoneReady', 'Fine'],
    ])
  })
})

describe('refused at the start', () => {
  test.each<[string, EntityConfig, string]>([
    ['Available', kind([rule({ type: 'Available' })]), "condition Available of Cluster is the API's own"],
    ['Ready', kind([rule({ type: 'Ready' })]), "condition Ready of Cluster is the API's own"],
    ['Reconciled', kind([rule({ type: 'Reconciled' })]), "condition Reconciled of Cluster is the API's own"],
    ['LastKnownReconciled', kind([rule({ type: 'LastKnownReconciled' })]), "is the API's own"],
    ['a required adapter’s own', kind([rule({ type: 'DnsSuccessful' })]), "is the API's own, choose another type"],
    ['any adapter’s, where any may report', kind([rule({ type: 'XSuccessful' })], 'reporting'), "is the API's own"],
    ['a type twice', kind([rule(), rule()]), 'condition ZoneReady of Cluster is there twice, remove one'],
    ['a type that is none', kind([rule({ type: 'zone-ready' })]), 'must be UpperCamelCase, such as ZoneReady'],
    ['no CEL', kind([rule({ when: 'statuses.' })]), 'when of condition ZoneReady of Cluster'],
    [
      'an unknown variable',
      kind([rule({ when: 'status.size() > 0' })]),
      'there is no variable status: did you mean statuses?',
    ],
    ['a `when` of another type', kind([rule({ when: '1' })]), 'gives int, but bool is needed'],
    ['a message of another type', kind([rule({ message: '1' })]), 'message of condition ZoneReady of Cluster'],
  ])('%s', (_case, config, message) => {
    expect(() => compileConditions(config)).toThrow(message)
  })

  test('but not the name of an adapter that is not required', () => {
    expect(compileConditions(kind([rule({ type: 'ExtraSuccessful' })]))).toHaveLength(1)
  })
})
