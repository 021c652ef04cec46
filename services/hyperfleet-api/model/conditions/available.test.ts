import { describe, expect, test } from 'vitest'
import {
  at,
  cluster,
  previous,
  readyCluster,
  report,
  row,
  type Says,
  saysOf,
} from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import type { RequiredAdapters } from '../entity-config.ts'
import type { AdapterStatus, Condition } from '../resource.ts'
import { agreedGeneration, decideAvailable } from './available.ts'
import { buildCondition } from './condition-value.ts'
import { collectRequired } from './counted-reports.ts'

const UPDATED = at(30)
const GENERATION = 4
const REQUIRED = ['dns', 'validation']

/** `Available` of a resource at generation 4, changed at second 30. */
const available = (rows: readonly AdapterStatus[], was?: Says, required: RequiredAdapters = REQUIRED): Condition => {
  const before = was && previous('Available', was)
  const verdict = decideAvailable({ updated_time: UPDATED }, collectRequired(rows, required, GENERATION), before)
  return buildCondition('Available', verdict, before, UPDATED)
}

describe('the generation that all agree on', () => {
  test.each<[string, readonly AdapterStatus[], RequiredAdapters, number | undefined]>([
    ['is none without required adapters', [row('dns', 'True', 4)], [], undefined],
    ['is none without reports', [], REQUIRED, undefined],
    ['is none when one is missing', [row('dns', 'True', 4)], REQUIRED, undefined],
    ['is that of one, when one is required', [row('dns', 'True', 4)], ['dns'], 4],
    ['is that of all', [row('dns', 'True', 4), row('validation', 'True', 4)], REQUIRED, 4],
    ['may be older than the current one', [row('dns', 'True', 2), row('validation', 'True', 2)], REQUIRED, 2],
    ['is none when theirs differ', [row('dns', 'True', 4), row('validation', 'True', 3)], REQUIRED, undefined],
    ['is none when one says False', [row('dns', 'True', 4), row('validation', 'False', 4)], REQUIRED, undefined],
    ['is none when all say False', [row('dns', 'False', 4), row('validation', 'False', 4)], REQUIRED, undefined],
    ['is none when one says Unknown', [row('dns', 'True', 4), row('validation', 'Unknown', 4)], REQUIRED, undefined],
    ['is none when it is yet to come', [row('dns', 'True', 5), row('validation', 'True', 5)], REQUIRED, undefined],
    [
      'does not ask who is not required',
      [row('dns', 'True', 4), row('validation', 'True', 4), row('extra', 'False', 4)],
      REQUIRED,
      4,
    ],
    ['asks with `reporting` who has reported', [row('dns', 'True', 4), row('late', 'Unknown', 4)], 'reporting', 4],
  ])('%s', (_case, rows, required, generation) => {
    expect(agreedGeneration(collectRequired(rows, required, GENERATION))).toBe(generation)
  })
})

describe('Available that was not there yet', () => {
  test.each<[string, readonly AdapterStatus[], Says, string]>([
    ['is False at generation 1 without reports', [], 'False@1', 'AdaptersMissingReports'],
    ['is False while one is missing', [row('dns', 'True', 1)], 'False@1', 'AdaptersMissingReports'],
    [
      'is True when all agree',
      [row('dns', 'True', 4), row('validation', 'True', 4)],
      'True@4',
      'AllAdaptersReconciled',
    ],
    [
      'is True at an older generation that all agree on',
      [row('dns', 'True', 3), row('validation', 'True', 3)],
      'True@3',
      'AllAdaptersReconciled',
    ],
    [
      'is False at the newest generation reported, when theirs differ',
      [row('dns', 'True', 3), row('validation', 'True', 4)],
      'False@4',
      'AdaptersNotAtSameGeneration',
    ],
    [
      'is False when one says so',
      [row('dns', 'False', 4), row('validation', 'True', 4)],
      'False@4',
      'AdapterReportedNotAvailable',
    ],
  ])('%s', (_case, rows, says, reason) => {
    const condition = available(rows)
    expect([saysOf(condition), condition.reason]).toEqual([says, reason])
  })
})

describe('Available that was True at generation 2', () => {
  test.each<[string, readonly AdapterStatus[], Says]>([
    ['stays when all still say so', [row('dns', 'True', 2, 40), row('validation', 'True', 2, 40)], 'True@2'],
    ['moves when all agree on a newer one', [row('dns', 'True', 3), row('validation', 'True', 3)], 'True@3'],
    ['moves over generations', [row('dns', 'True', 4), row('validation', 'True', 4)], 'True@4'],
    ['stays while one is ahead', [row('dns', 'True', 3), row('validation', 'True', 2)], 'True@2'],
    ['stays while both are ahead and differ', [row('dns', 'True', 3), row('validation', 'True', 4)], 'True@2'],
    ['stays when one says False of a newer one', [row('dns', 'False', 3), row('validation', 'True', 2)], 'True@2'],
    ['stays when all say False of a newer one', [row('dns', 'False', 4), row('validation', 'False', 4)], 'True@2'],
    ['stays when one says False of an older one', [row('dns', 'False', 1), row('validation', 'True', 2)], 'True@2'],
    ['is lost when one says False of it', [row('dns', 'False', 2), row('validation', 'True', 2)], 'False@2'],
    ['is lost when all do', [row('dns', 'False', 2), row('validation', 'False', 2)], 'False@2'],
    ['is lost though the other is ahead', [row('dns', 'False', 2), row('validation', 'True', 4)], 'False@2'],
    // The Go service drops it at once; here only a False about its generation may (API-12).
    ['stays when a report is missing (the Go service: False)', [row('dns', 'True', 2)], 'True@2'],
    ['stays when all reports are missing (the Go service: False)', [], 'True@2'],
    [
      'stays when one is at work (the Go service: False)',
      [row('dns', 'True', 2), row('validation', 'Unknown', 2)],
      'True@2',
    ],
    ['stays when all fell back to an older one', [row('dns', 'True', 1), row('validation', 'True', 1)], 'True@2'],
    [
      'stays whatever says who is not required',
      [row('dns', 'True', 2), row('validation', 'True', 2), row('extra', 'False', 2)],
      'True@2',
    ],
  ])('%s', (_case, rows, says) => {
    expect(saysOf(available(rows, 'True@2'))).toBe(says)
  })

  test('says what it said, while it stays', () => {
    expect(available([row('dns', 'True', 3), row('validation', 'True', 2)], 'True@2')).toEqual(
      previous('Available', 'True@2'),
    )
  })
})

describe('Available that was False at generation 2', () => {
  test.each<[string, readonly AdapterStatus[], Says, string]>([
    ['stays without reports', [], 'False@2', 'AdaptersMissingReports'],
    ['stays while one is missing', [row('dns', 'True', 2)], 'False@2', 'AdaptersMissingReports'],
    [
      'comes back when all say True of it',
      [row('dns', 'True', 2), row('validation', 'True', 2)],
      'True@2',
      'AllAdaptersReconciled',
    ],
    [
      'comes back at a newer one',
      [row('dns', 'True', 3), row('validation', 'True', 3)],
      'True@3',
      'AllAdaptersReconciled',
    ],
    [
      'stays while one says False of it',
      [row('dns', 'False', 2), row('validation', 'True', 2)],
      'False@2',
      'AdapterReportedNotAvailable',
    ],
    [
      // The Go service moves to the newest generation reported; here it remains at its own (API-12).
      'stays at its generation while newer reports are mixed (the Go service: False@3)',
      [row('dns', 'True', 3), row('validation', 'True', 2)],
      'False@2',
      'AdaptersNotAtSameGeneration',
    ],
    [
      'stays at its generation when one says False of a newer one (the Go service: False@3)',
      [row('dns', 'False', 3), row('validation', 'True', 3)],
      'False@2',
      'AdapterReportedNotAvailable',
    ],
    [
      'does not come back at an older one',
      [row('dns', 'True', 1), row('validation', 'True', 1)],
      'False@2',
      'AdaptersNotAtSameGeneration',
    ],
  ])('%s', (_case, rows, says, reason) => {
    const condition = available(rows, 'False@2')
    expect([saysOf(condition), condition.reason]).toEqual([says, reason])
  })
})

describe('last_updated_time is', () => {
  test.each<[string, readonly AdapterStatus[], Says | undefined, string]>([
    [
      'the oldest report when all agree',
      [row('dns', 'True', 2, 50), row('validation', 'True', 2, 40)],
      'True@2',
      at(40),
    ],
    [
      'kept while it stays True over mixed ones',
      [row('dns', 'True', 3, 50), row('validation', 'True', 2)],
      'True@2',
      at(2),
    ],
    ['kept while it stays True over a False elsewhere', [row('dns', 'False', 3, 50)], 'True@2', at(2)],
    [
      'the oldest report that says False of its generation',
      [row('dns', 'False', 2, 50), row('validation', 'False', 2, 40)],
      'True@2',
      at(40),
    ],
    [
      'not of a report that says True',
      [row('dns', 'False', 2, 50), row('validation', 'True', 2, 40)],
      'True@2',
      at(50),
    ],
    ['kept while it stays False', [row('dns', 'True', 3, 50)], 'False@2', at(2)],
    ['the last change of the resource, when it is new', [row('dns', 'True', 3, 50)], undefined, UPDATED],
  ])('%s', (_case, rows, was, time) => {
    expect(available(rows, was).last_updated_time).toBe(time)
  })
})

describe('last_transition_time is', () => {
  test.each<[string, readonly AdapterStatus[], Says | undefined, string]>([
    ['kept while it stays True', [row('dns', 'True', 2, 50), row('validation', 'True', 2, 40)], 'True@2', at(1)],
    [
      'kept while it moves to a newer one',
      [row('dns', 'True', 3, 50), row('validation', 'True', 3, 40)],
      'True@2',
      at(1),
    ],
    ['kept while it stays False', [row('dns', 'False', 2, 50)], 'False@2', at(1)],
    [
      'that of the reports that agree',
      [row('dns', 'True', 2, 50), row('validation', 'True', 2, 40)],
      'False@2',
      at(40),
    ],
    ['that of the report that takes it away', [row('dns', 'False', 2, 50)], 'True@2', at(50)],
    ['that of the resource, when it is new', [], undefined, UPDATED],
  ])('%s', (_case, rows, was, time) => {
    expect(available(rows, was).last_transition_time).toBe(time)
  })
})

describe('its message', () => {
  test.each<[string, readonly AdapterStatus[], Says | undefined, string]>([
    ['names who says False', [row('dns', 'False', 2)], 'True@2', 'Required adapters reporting Available=False: [dns]'],
    ['says that reports are missing', [], undefined, 'Required adapters have not yet reported status'],
    [
      'says from where on they must agree',
      [row('dns', 'True', 3), row('validation', 'True', 4)],
      'False@2',
      'Required adapters have not all reported Available=True at one generation, 2 or newer',
    ],
  ])('%s', (_case, rows, was, message) => {
    expect(available(rows, was).message).toBe(message)
  })
})

// API-11
test('updates in quick succession: True at an older generation, though Ready is False', () => {
  const one = cluster()
    .updates()
    .reports(report('dns', 'True', 1), report('validation', 'True', 1))
  expect([one.says('Available'), one.says('Ready')]).toEqual(['True@1', 'False@2'])
})

// API-12
test('a late False about its generation takes it away after an update too', () => {
  expect(
    readyCluster()
      .updates()
      .reports(report('dns', 'False', 1, 1))
      .says('Available'),
  ).toBe('False@1')
})

test('when adapters that must report are retired, its generation does not go back', () => {
  const one = cluster('reporting')
    .updates()
    .reports(report('dns', 'True', 2), report('validation', 'True', 1))
  expect(one.says('Available')).toBe('True@2')
  expect(one.retires('dns').says('Available')).toBe('True@2')
})
