import { describe, expect, test } from 'vitest'
import { at, previous, readyCluster, report, row, type Says } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import type { RequiredAdapters } from '../entity-config.ts'
import type { AdapterStatus, Condition, ReportedStatus } from '../resource.ts'
import type { AggregationInput } from './aggregation-input.ts'
import { buildCondition } from './condition-value.ts'
import { collectRequired } from './counted-reports.ts'
import { decideReady } from './ready.ts'

const CREATED = at(3)
const UPDATED = at(30)

/** `Ready` of a resource at generation 2, made at second 3 and changed at second 30. */
const ready = (
  rows: readonly AdapterStatus[],
  {
    required = ['dns', 'validation'],
    was,
    ...rest
  }: { required?: RequiredAdapters; was?: Condition; deleted_time?: string; hasChildren?: boolean } = {},
): Condition => {
  const resource = { generation: 2, created_time: CREATED, updated_time: UPDATED, deleted_time: rest.deleted_time }
  const buildInput: AggregationInput = {
    resource,
    rows,
    required,
    previous: [],
    hasChildren: rest.hasChildren ?? false,
  }
  return buildCondition('Ready', decideReady(buildInput, collectRequired(rows, required, 2)), was, UPDATED)
}

describe('Ready at generation 2 is', () => {
  const both = (dns: ReportedStatus, validation: ReportedStatus, generations: [number, number] = [2, 2]) => [
    row('dns', dns, generations[0]),
    row('validation', validation, generations[1]),
  ]
  test.each<[string, readonly AdapterStatus[], RequiredAdapters, Says, string]>([
    ['False without a report', [], ['dns', 'validation'], 'False@2', 'ReconciledMissingAdapters'],
    ['False with one of two', [row('dns', 'True', 2)], ['dns', 'validation'], 'False@2', 'ReconciledMissingAdapters'],
    ['True with one of one', [row('dns', 'True', 2)], ['dns'], 'True@2', 'ReconciledAll'],
    ['True when all say so of it', both('True', 'True'), ['dns', 'validation'], 'True@2', 'ReconciledAll'],
    ['False when one says False', both('True', 'False'), ['dns', 'validation'], 'False@2', 'ReconciledMissingAdapters'],
    ['False when all do', both('False', 'False'), ['dns', 'validation'], 'False@2', 'ReconciledMissingAdapters'],
    [
      'False when one has only said Unknown',
      both('True', 'Unknown'),
      ['dns', 'validation'],
      'False@2',
      'ReconciledMissingAdapters',
    ],
    [
      'False when one is a generation behind',
      both('True', 'True', [2, 1]),
      ['dns', 'validation'],
      'False@2',
      'ReconciledMissingAdapters',
    ],
    [
      'False when all are a generation behind',
      both('True', 'True', [1, 1]),
      ['dns', 'validation'],
      'False@2',
      'ReconciledMissingAdapters',
    ],
    [
      'False when one speaks of a generation to come',
      both('True', 'True', [2, 3]),
      ['dns', 'validation'],
      'False@2',
      'ReconciledMissingAdapters',
    ],
    [
      'True whatever an adapter says that is not required',
      [...both('True', 'True'), row('extra', 'False', 2)],
      ['dns', 'validation'],
      'True@2',
      'ReconciledAll',
    ],
    ['False with `reporting` and no report', [], 'reporting', 'False@2', 'ReconciledMissingAdapters'],
    ['True with `reporting` when all that did agree', [row('dns', 'True', 2)], 'reporting', 'True@2', 'ReconciledAll'],
    [
      'True with `reporting` while another has only said Unknown',
      both('True', 'Unknown'),
      'reporting',
      'True@2',
      'ReconciledAll',
    ],
    ['False with `undecided` and no report', [], 'undecided', 'False@2', 'RequiredAdaptersUndecided'],
    // API-160
    [
      'False with `undecided` though all that did report agree',
      [row('dns', 'True', 2)],
      'undecided',
      'False@2',
      'RequiredAdaptersUndecided',
    ],
    [
      'False with `reporting` when one says False',
      both('True', 'False'),
      'reporting',
      'False@2',
      'ReconciledMissingAdapters',
    ],
  ])('%s', (_case, rows, required, says, reason) => {
    const { status, observed_generation, reason: given } = ready(rows, { required })
    expect([`${status}@${observed_generation}`, given]).toEqual([says, reason])
  })
})

describe('its message', () => {
  test('names the adapters that are missing and those that are there, sorted', () => {
    expect(ready([row('dns', 'True', 2)], { required: ['validation', 'dns', 'alpha'] }).message).toBe(
      'Required adapters not reporting Available=True: [alpha, validation]. Currently reporting: [dns]',
    )
  })
  test('says with `reporting` that no adapter has reported', () => {
    expect(ready([], { required: 'reporting' }).message).toBe('No adapter has reported yet')
  })
})

// API-15
describe('last_updated_time, the Sentinel’s clock, is', () => {
  test.each<[string, readonly AdapterStatus[], string]>([
    [
      'the oldest report of the current generation',
      [row('dns', 'True', 2, 50), row('validation', 'True', 2, 40)],
      at(40),
    ],
    ['of those that are there, when one is missing', [row('dns', 'True', 2, 50)], at(50)],
    ['of those that say False too', [row('dns', 'False', 2, 35), row('validation', 'True', 2, 40)], at(35)],
    ['not of an older generation', [row('dns', 'True', 1, 5), row('validation', 'True', 2, 40)], at(40)],
    ['not of an adapter that is not required', [row('dns', 'True', 2, 50), row('extra', 'True', 2, 31)], at(50)],
    ['not of one that is still at work', [row('dns', 'True', 2, 50), row('validation', 'Unknown', 2, 31)], at(50)],
    ['the last change of the resource, when there is none', [row('dns', 'True', 1, 5)], UPDATED],
    ['the creation of the resource, without a report', [], CREATED],
  ])('%s', (_case, rows, time) => {
    expect(ready(rows).last_updated_time).toBe(time)
  })
})

describe('last_transition_time is', () => {
  const agreeing = [row('dns', 'True', 2, 50), row('validation', 'True', 2, 40)]
  const failing = [row('dns', 'False', 2, 50), row('validation', 'True', 2, 40)]
  test.each<[string, readonly AdapterStatus[], Condition | undefined, string]>([
    ['kept while it stays True', agreeing, previous('Ready', 'True@2'), at(1)],
    ['kept while it stays False', failing, previous('Ready', 'False@2'), at(1)],
    ['kept while it stays False over a spec change', [], previous('Ready', 'False@1'), at(1)],
    ['that of the reports that make it True', agreeing, previous('Ready', 'False@2'), at(40)],
    [
      'that of the reports that make it True at once after a spec change',
      agreeing,
      previous('Ready', 'False@1'),
      at(40),
    ],
    ['that of the reports that take it away', failing, previous('Ready', 'True@2'), at(40)],
    ['the moment of the spec change that takes it away', [], previous('Ready', 'True@1'), UPDATED],
    ['the moment of the spec change, though a report of it is there', failing, previous('Ready', 'True@1'), UPDATED],
    ['that of the resource, when it is new', [], undefined, CREATED],
  ])('%s', (_case, rows, was, time) => {
    expect(ready(rows, was && { was }).last_transition_time).toBe(time)
  })

  test('created_time stays, and a new one is as old as the change that brought it', () => {
    expect(ready([], { was: previous('Ready', 'True@1') }).created_time).toBe(at(0))
    expect(ready([]).created_time).toBe(UPDATED)
  })
})

describe('in deletion it is False', () => {
  const finalized = (adapter: string): AdapterStatus => {
    const status = row(adapter, 'True', 2, 40)
    return {
      ...status,
      conditions: [...status.conditions, { type: 'Finalized', status: 'True', last_transition_time: at(40) }],
    }
  }
  const deleting = { deleted_time: at(30) }

  // The Go service turns it True when all have finalized; here it is False until the record is gone (API-23).
  test.each<[string, readonly AdapterStatus[], boolean, string]>([
    ['and names who is awaited', [], false, ', waiting for adapters [dns, validation] to report their clean-up'],
    [
      'whatever is reported, and no longer names who has cleaned up',
      [finalized('dns'), row('validation', 'True', 2, 40)],
      false,
      ', waiting for adapters [validation] to report their clean-up',
    ],
    [
      'and names an adapter that is not required but left a report',
      [finalized('dns'), finalized('validation'), row('extra', 'True', 1)],
      false,
      ', waiting for adapters [extra] to report their clean-up',
    ],
    [
      // The Go service says Reconciled here (difference 14), and its Sentinel looks away for half an hour.
      'while children are left, those in deletion included',
      [finalized('dns'), finalized('validation')],
      true,
      ', waiting for child resources to be removed',
    ],
    [
      'and names both',
      [finalized('dns')],
      true,
      ', waiting for adapters [validation] to report their clean-up and child resources to be removed',
    ],
    ['to the end', [finalized('dns'), finalized('validation')], false, ''],
  ])('%s', (_case, rows, hasChildren, rest) => {
    const condition = ready(rows, { ...deleting, hasChildren, was: previous('Ready', 'True@1') })
    expect(condition).toMatchObject({ status: 'False', observed_generation: 2, reason: 'Deleting' })
    expect(condition.message).toBe(`Deletion in progress${rest}`)
    expect(condition.last_transition_time).toBe(UPDATED)
  })
})

test('a report takes it away and another brings it back', () => {
  const one = readyCluster().reports(report('dns', 'False', 1, 5))
  expect(one.says('Ready')).toBe('False@1')
  expect(one.reports(report('dns', 'True', 1, 6)).says('Ready')).toBe('True@1')
})
