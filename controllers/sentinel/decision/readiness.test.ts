import { expect, test } from 'vitest'
import { readReadiness } from './readiness.ts'
import { parseResource } from './resource.ts'

const CREATED = '2026-01-01T00:00:00Z'
const LATER = '2026-01-01T01:00:00Z'
const at = (text: string) => Date.parse(text)

const readiness = (status: object) =>
  readReadiness(parseResource({ id: 'a', generation: 3, created_time: CREATED, status }))

const condition = (type: string, change: object = {}) => ({
  type,
  status: 'True',
  observed_generation: 3,
  last_updated_time: LATER,
  ...change,
})

// SENTINEL-8
test('the condition Ready says ready, and its last_updated_time is the clock', () => {
  expect(readiness({ phase: 'NotReady', conditions: [condition('Ready')] })).toEqual({
    condition: 'Ready',
    ready: true,
    reference: at(LATER),
    observedGeneration: 3,
    reported: true,
  })
})

test('Reconciled stands in where there is no Ready, wherever it is in the list', () => {
  const conditions = [condition('ValidationSuccessful'), condition('Reconciled', { status: 'False' })]
  expect(readiness({ conditions })).toMatchObject({ condition: 'Reconciled', ready: false })
})

// SENTINEL-7
test('Ready wins over Reconciled', () => {
  const conditions = [condition('Reconciled'), condition('Ready', { status: 'False' })]
  expect(readiness({ conditions })).toMatchObject({ condition: 'Ready', ready: false })
})

test('a condition without a report yet carries the time of the creation', () => {
  const conditions = [condition('Ready', { status: 'False', last_updated_time: CREATED })]
  expect(readiness({ conditions })).toMatchObject({ reported: false, reference: at(CREATED) })
})

// SENTINEL-7
test('without conditions the phase says ready, and lastTransitionTime is the clock', () => {
  expect(readiness({ phase: 'Ready', lastTransitionTime: LATER })).toMatchObject({ ready: true, reference: at(LATER) })
  expect(readiness({ phase: 'Provisioning' })).toMatchObject({ ready: false, reference: at(CREATED), reported: false })
})

// SENTINEL-9
test('a kind without adapters, which has neither, counts as ready since its creation', () => {
  expect(readiness({ conditions: [] })).toEqual({
    condition: undefined,
    ready: true,
    reference: at(CREATED),
    observedGeneration: undefined,
    reported: false,
  })
})
