import { expect, test } from 'vitest'
import { Problem } from '../problems/problem.ts'
import { parseFields, project } from './projection.ts'

const resource = {
  id: '1',
  name: 'one',
  labels: { 'example.com/a.b': 'x', c: 'y' },
  spec: { a: { b: 1, c: 2 } },
  status: {
    phase: 'Ready',
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Available', status: 'True' },
    ],
  },
}

test.each([
  ['name', { id: '1', name: 'one' }],
  ['labels.example.com/a.b', { id: '1', labels: { 'example.com/a.b': 'x' } }],
  ['spec.a.b', { id: '1', spec: { a: { b: 1 } } }],
  ['spec.a.b,spec', { id: '1', spec: resource.spec }],
  ['status.*', { id: '1', status: resource.status }],
  [
    ' status.conditions.type , status.phase',
    { id: '1', status: { phase: 'Ready', conditions: [{ type: 'Ready' }, { type: 'Available' }] } },
  ],
  ['deleted_time', { id: '1' }],
])('fields=%s', (fields, expected) => {
  expect(project(resource, parseFields(fields) ?? 'all')).toEqual(expected)
})

test('no fields is everything', () => {
  expect([parseFields(undefined), parseFields(''), parseFields(' , ')]).toEqual([undefined, undefined, undefined])
})

test.each([
  'nope',
  'name.first',
  'status.nope',
  'status.conditions.nope',
  'owner_references.name',
  '__proto__',
  'constructor',
])('fields=%s is refused', (fields) => {
  expect(() => parseFields(fields)).toThrow(Problem)
})
