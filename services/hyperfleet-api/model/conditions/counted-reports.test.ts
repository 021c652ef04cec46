import { describe, expect, test } from 'vitest'
import { at, row } from '#test/worlds/hyperfleet-api/adapter-reports.ts'
import type { RequiredAdapters } from '../entity-config.ts'
import type { AdapterStatus } from '../resource.ts'
import { collectRequired, formatAdapters, oldestReportTime } from './counted-reports.ts'

const GENERATION = 3
const { conditions: _dropped, ...silent } = row('dns', 'True', 3)
const withoutAvailable: AdapterStatus = { ...silent, conditions: [] }

describe('of the rows of a resource at generation 3 count', () => {
  test.each<[string, RequiredAdapters, AdapterStatus[], string[], boolean]>([
    ['none, when there is none', ['dns'], [], [], false],
    ['True', ['dns'], [row('dns', 'True', 3)], ['dns'], true],
    ['False', ['dns'], [row('dns', 'False', 3)], ['dns'], true],
    ['not Unknown: the adapter is still at work', ['dns'], [row('dns', 'Unknown', 3)], [], false],
    ['not what says nothing of Available', ['dns'], [withoutAvailable], [], false],
    ['an older generation', ['dns'], [row('dns', 'True', 1)], ['dns'], true],
    ['not a generation to come', ['dns'], [row('dns', 'True', 4)], [], false],
    ['not an adapter that is not required', ['dns'], [row('extra', 'True', 3)], [], false],
    ['no row, when no adapter is required', [], [row('dns', 'True', 3)], [], false],
    [
      'each for itself, whatever the others say',
      ['dns', 'validation', 'late'],
      [row('dns', 'True', 2), row('validation', 'False', 3), row('late', 'Unknown', 3), row('extra', 'False', 3)],
      ['dns', 'validation'],
      false,
    ],
    [
      'all, in the order of names and not of rows',
      ['validation', 'dns'],
      [row('validation', 'True', 3), row('dns', 'True', 3)],
      ['dns', 'validation'],
      true,
    ],
  ])('%s', (_case, required, rows, counting, isComplete) => {
    const reports = collectRequired(rows, required, GENERATION)
    expect(reports.counted.map((usable) => usable.row.adapter)).toEqual(counting)
    expect(reports.isComplete).toBe(isComplete)
    expect(reports.required).toEqual([required].flat().toSorted())
  })
})

describe('with required_adapters: reporting must report', () => {
  test.each<[string, AdapterStatus[], string[]]>([
    ['no report, and that is not complete', [], []],
    [
      'every adapter that has said True or False',
      [row('dns', 'True', 3), row('validation', 'False', 2)],
      ['dns', 'validation'],
    ],
    ['not who has only said Unknown', [row('dns', 'True', 3), row('late', 'Unknown', 3)], ['dns']],
    ['not who speaks of a generation to come', [row('dns', 'True', 4)], []],
  ])('%s', (_case, rows, names) => {
    const { required, isComplete } = collectRequired(rows, 'reporting', GENERATION)
    expect([required, isComplete]).toEqual([names, names.length > 0])
  })
})

test('the oldest of reports is the one that was observed first', () => {
  const { counted } = collectRequired([row('a', 'True', 3, 9), row('b', 'False', 1, 4)], ['a', 'b'], GENERATION)
  expect([oldestReportTime(counted), oldestReportTime([])]).toEqual([at(4), undefined])
})

test('adapters are named in order, and none as none', () => {
  expect([formatAdapters(['validation', 'dns']), formatAdapters([])]).toEqual(['[dns, validation]', '[]'])
})
