import { expect, test } from 'vitest'
import { cluster, readyCluster, report } from '#test/worlds/hyperfleet-api/adapter-reports.ts'

/** The use cases of pulses-and-status, by the names they have there. */

// API-16
test('1. In-progress adapter task response: a Ready cluster stays Ready while its status is refreshed', () => {
  const one = readyCluster()
  const before = one.conditions()
  one.reports(report('dns', 'Unknown', 1, 30))
  expect([one.conditions(), one.phase()]).toEqual([before, 'Ready'])
})

// API-14
test('2. Mixed generation for Available conditions: Ready goes with the update, Available=True stays with gen=1', () => {
  const one = readyCluster().updates()
  expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'True@1'])
  one.reports(report('dns', 'True', 2))
  expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'True@1'])
  one.reports(report('validation', 'True', 2))
  expect([one.says('Ready'), one.says('Available')]).toEqual(['True@2', 'True@2'])
})

// API-12
test('3. Cluster transitions to Ready but with mixed generations: Available remains False at gen=1', () => {
  const one = readyCluster().reports(report('dns', 'False', 1, 1))
  expect([one.says('Ready'), one.says('Available')]).toEqual(['False@1', 'False@1'])
  one.updates().reports(report('dns', 'True', 2, 2))
  expect([one.says('Ready'), one.says('Available')]).toEqual(['False@2', 'False@1'])
})

// API-3
test('rule 1: an adapter at generation 2 can’t go back to generation 1', () => {
  const one = cluster(['dns'])
    .updates()
    .reports(report('dns', 'True', 2, 1), report('dns', 'False', 1, 9))
  expect(one.says('Ready')).toBe('True@2')
})

// API-5
test('rule 2: Available=Unknown moves no time of the adapter', () => {
  const one = readyCluster().reports(report('dns', 'Unknown', 1, 30))
  const aggregated = one.rows().map(({ interim: _interim, ...row }) => row)
  expect(aggregated).toEqual(readyCluster().rows())
})
