import { expect, test } from 'vitest'
import { taskExpressions } from './expressions.ts'

const now = new Date('2026-01-01T01:00:00.700Z')
const { compile } = taskExpressions(['cluster', 'clusterId', 'feedback'], () => now)

const conditions = [
  { type: 'Ready', status: 'True', last_transition_time: '2026-01-01T00:00:00Z' },
  { type: 'Progressing', status: 'False', lastTransitionTime: '2026-01-01T00:59:30Z' },
  { type: 'Odd', last_transition_time: 'yesterday' },
  null,
  'text',
]
const values = {
  clusterId: 'c1',
  cluster: { id: 'c1', generation: 3, deleted_time: null, status: { conditions } },
  feedback: { values: [{ name: 'phase', fieldValue: { type: 'String', string: 'Active' } }, { name: 'odd' }] },
  resources: { ns: { status: { phase: 'Active' } } },
  event: { id: 'c1', generation: 3 },
  env: {},
  config: {},
  adapter: { executionStatus: 'success', executionError: null, resourceErrors: {} },
}

test.each([
  ['now()', '2026-01-01T01:00:00Z'],
  ['timestamp(now()) - timestamp("2026-01-01T00:00:00Z") > duration("59m")', true],
  [
    'toJson({"a": [1, 2.5, null, true], "t": timestamp("2026-01-01T00:00:00Z")})',
    '{"a":[1,2.5,null,true],"t":"2026-01-01T00:00:00Z"}',
  ],
  ['dig(cluster, "status.conditions.0.type")', 'Ready'],
  ['dig(cluster, "status.nope.0") == null', true],
  ['dig(cluster, "id.length") == null', true],
  ['dig(null, "a") == null', true],
  ['conditionStatus(cluster.status.conditions, "Ready")', 'True'],
  ['conditionStatus(cluster.status.conditions, "Missing")', 'Unknown'],
  ['conditionStatus(cluster.status.conditions, "Odd")', 'Unknown'],
  ['conditionStatus(null, "Ready") + conditionStatus("x", "Ready")', 'UnknownUnknown'],
  ['conditionAge(cluster.status.conditions, "Ready")', 3600],
  ['conditionAge(cluster.status.conditions, "Progressing")', 30],
  ['conditionAge(cluster.status.conditions, "Odd") + conditionAge({}, "Ready")', -2],
  ['stableFor(cluster.status.conditions, "Ready", 3600)', true],
  ['stableFor(cluster.status.conditions, "Ready", 3601)', false],
  ['stableFor(cluster.status.conditions, "Progressing", 1)', false],
  ['statusFeedbackValue(feedback, "phase")', 'Active'],
  ['statusFeedbackValue(feedback, "odd") + statusFeedbackValue(null, "phase")', ''],
  ['[triState(true, true), triState(false, true), triState(false, false)].join()', 'TrueFalseUnknown'],
  ['resources.?ns.hasValue() && !resources.?job.hasValue()', true],
  ['resources.?ns.?status.?phase.orValue("") == "Active"', true],
  ['adapter.?executionStatus.orValue("") == "success" && !has(adapter.executionError)', true],
  ['event.generation == cluster.generation', true],
])('%s is %j', (expression, expected) => {
  expect(compile(expression).evaluate(values)).toEqual(expected)
})

test.each(['has(cluster.deleted_time)', 'cluster.?deleted_time.hasValue()'])(
  'ADAPTER-4: a live cluster is not deleted because its API writes "deleted_time": null: %s',
  (expression) => {
    expect(compile(expression).evaluate(values)).toBe(false)
    expect(compile(expression).evaluate({ ...values, cluster: { deleted_time: '2026-01-01T00:00:00Z' } })).toBe(true)
  },
)

test('a name that the task does not declare is refused before it runs, with the one that was probably meant', () => {
  expect(() => compile('params.?x.orValue(true)')).toThrow('there is no variable params')
  expect(() => compile('clusterID == "x"')).toThrow('there is no variable clusterID: did you mean clusterId?')
  expect(() => compile('conditionStats([], "Ready")')).toThrow('did you mean conditionStatus?')
})

test('ADAPTER-3: an error at run time is an error, never false', () => {
  expect(() => compile('cluster.spec.replicas > 1').evaluate(values)).toThrow('no such key: spec')
  expect(() => compile('cluster.missing && false').evaluate(values)).not.toThrow()
  expect(() => compile('cluster.missing && true').evaluate(values)).toThrow('no such key: missing')
})
