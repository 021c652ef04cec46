import { describe, expect, test } from 'vitest'
import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import { at, previous, row } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import type { RequiredAdapters } from '../entity-config.ts'
import type { AdapterStatus, Condition } from '../resource.ts'
import { adapterConditions } from './adapter.ts'
import { collectRequired } from './counted-reports.ts'

test.each([
  ['dns', 'DnsSuccessful'],
  ['pull-secret', 'PullSecretSuccessful'],
  ['a-b-c', 'ABCSuccessful'],
  ['landing-zone-2', 'LandingZone2Successful'],
  ['gcpDns', 'GcpDnsSuccessful'],
  ['x--y', 'XYSuccessful'],
])('the condition of adapter %s is %s', (adapter, type) => {
  expect(adapterConditionType(adapter)).toBe(type)
})

/** Conditions of the adapters of a resource at generation 2, changed at second 30. */
const conditions = (
  rows: readonly AdapterStatus[],
  required: RequiredAdapters = ['dns', 'validation'],
  before: readonly Condition[] = [],
): Condition[] =>
  adapterConditions(
    collectRequired(rows, required, 2),
    new Map(before.map((condition) => [condition.type, condition])),
    {
      updated_time: at(30),
    },
  )

const types = (given: readonly Condition[]) => given.map(({ type }) => type)

describe('an adapter has a condition', () => {
  test.each<[string, readonly AdapterStatus[], RequiredAdapters, string[]]>([
    ['never without a report', [], ['dns'], []],
    ['when it says True', [row('dns', 'True', 2)], ['dns'], ['DnsSuccessful']],
    ['when it says False', [row('dns', 'False', 2)], ['dns'], ['DnsSuccessful']],
    ['not when it has only said Unknown', [row('dns', 'Unknown', 2)], ['dns'], []],
    ['not when it is not required', [row('extra', 'True', 2)], ['dns'], []],
    ['not about a generation to come', [row('dns', 'True', 3)], ['dns'], []],
    [
      'each its own, by name',
      [row('validation', 'True', 2), row('dns', 'False', 1)],
      ['validation', 'dns'],
      ['DnsSuccessful', 'ValidationSuccessful'],
    ],
    ['with `reporting` when it has reported', [row('extra', 'True', 2)], 'reporting', ['ExtraSuccessful']],
    [
      'once, when two names give one type',
      [row('pull-secret', 'True', 2), row('PullSecret', 'True', 2)],
      'reporting',
      ['PullSecretSuccessful'],
    ],
  ])('%s', (_case, rows, required, expected) => {
    expect(types(conditions(rows, required))).toEqual(expected)
  })
})

test('API-121: of two with one type the one that says False is shown, else the first by name', () => {
  const told = (first: 'True' | 'False', second: 'True' | 'False') => {
    const rows = [row('pull--secret', first, 2), row('pull-secret', second, 2)]
    return conditions(rows, 'reporting').map(({ message }) => message)
  }
  expect(told('True', 'False')).toEqual(['pull-secret says False'])
  expect(told('False', 'True')).toEqual(['pull--secret says False'])
  expect(told('False', 'False')).toEqual(['pull--secret says False'])
  expect(told('True', 'True')).toEqual(['pull--secret says True'])
})

test('it says what the adapter says of Available, and when', () => {
  expect(conditions([row('dns', 'False', 1, 40)])).toEqual([
    {
      type: 'DnsSuccessful',
      status: 'False',
      reason: 'IsFalse',
      message: 'dns says False',
      observed_generation: 1,
      created_time: at(30),
      last_updated_time: at(40),
      last_transition_time: at(40),
    },
  ])
})

test('a reason and a message that the adapter leaves out are left out', () => {
  const bare = row('dns', 'True', 2)
  const [condition] = conditions([
    { ...bare, conditions: [{ type: 'Available', status: 'True', last_transition_time: at(0) }] },
  ])
  expect(condition).not.toHaveProperty('reason')
  expect(condition).not.toHaveProperty('message')
})

describe('over time', () => {
  const was = [previous('DnsSuccessful', 'True@1')]
  test('created_time stays, and last_transition_time while the status does', () => {
    expect(conditions([row('dns', 'True', 2, 40)], ['dns'], was)[0]).toMatchObject({
      observed_generation: 2,
      created_time: at(0),
      last_updated_time: at(40),
      last_transition_time: at(1),
    })
  })
  test('another status began with its report', () => {
    expect(conditions([row('dns', 'False', 2, 40)], ['dns'], was)[0]?.last_transition_time).toBe(at(40))
  })
  // API-17
  test('Unknown leaves it as it was', () => {
    expect(conditions([row('dns', 'Unknown', 2, 40)], ['dns'], was)).toEqual(was)
  })
  test('it goes when the adapter is no longer required', () => {
    expect(conditions([row('dns', 'True', 2)], ['validation'], was)).toEqual([])
  })
})
