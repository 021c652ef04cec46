import { expect, test } from 'vitest'
import {
  fieldManagerOf,
  findRemovedObjects,
  type ObjectName,
  sortForApply,
  summarizeObjects,
  union,
} from './objects.ts'

const named = (name: string, apiVersion = 'v1'): ObjectName => ({
  apiVersion,
  kind: 'ConfigMap',
  namespace: 'shop',
  name,
})

// AGENT-13
test('what left the list goes, the last one first, and what only moved to another version stays', () => {
  const applied = [named('a'), named('b'), named('c', 'x.io/v1'), named('d')]
  const wanted = [named('d'), named('c', 'x.io/v2')]
  expect(findRemovedObjects(applied, wanted)).toEqual([named('b'), named('a')])
  expect(union(applied, wanted)).toEqual([named('a'), named('b'), ...wanted])
})

// AGENT-15
test('namespaces and kinds come first, the rest as it is written', () => {
  const object = (kind: string) => ({ apiVersion: 'v1', kind, metadata: { name: 'x' } })
  const kinds = ['Service', 'Namespace', 'ConfigMap', 'CustomResourceDefinition']
  expect(sortForApply(kinds.map(object)).map(({ kind }) => kind)).toEqual([
    'Namespace',
    'CustomResourceDefinition',
    'Service',
    'ConfigMap',
  ])
})

test('a manager is readable while it is short enough, and different for different Deployments', () => {
  expect(fieldManagerOf('shop/web')).toBe('muster-agent/shop/web')
  const long = (end: string) => fieldManagerOf(`${'n'.repeat(63)}/${'d'.repeat(62)}${end}`)
  expect(long('a')).toHaveLength(45)
  expect(long('a')).not.toBe(long('b'))
})

const object = (kind: string, ...conditions: readonly object[]) => ({
  kind,
  metadata: { name: 'x' },
  status: { conditions },
})
const condition = (type: string, status: string) => ({ type, status, message: 'why' })

test.for<[string, readonly object[], string]>([
  ['nothing to wait for', [object('ConfigMap')], 'Running'],
  ['a Deployment that comes up', [object('Deployment', condition('Available', 'False'))], 'Pending'],
  ['a Deployment past its deadline', [object('Deployment', condition('Progressing', 'False'))], 'Failed'],
  ['a Job at work', [object('Job')], 'Pending'],
  ['a failed Job among ready ones', [object('ConfigMap'), object('Job', condition('Failed', 'True'))], 'Failed'],
  ['a resource that is stuck', [object('Widget', condition('Stalled', 'True'))], 'Failed'],
  ['a resource that is not ready', [object('Widget', condition('Ready', 'False'))], 'Pending'],
])('%s', ([, objects, phase]) => {
  expect(summarizeObjects(objects).phase).toBe(phase)
})
