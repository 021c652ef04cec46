/** Field managers tell adapters of one name in two namespaces apart, however long the names are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ApiError } from '#operator/client/errors.ts'
import {
  conflictingFields,
  fieldManagerOf,
  isAppliedByOthers,
  managersOf,
  ownManagers,
  parseFieldManager,
} from './shared-objects.ts'

const label = (max: number) =>
  fc
    .string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: max })
    .map((text) => `${`a${text.slice(1)}`.slice(0, -1)}a`)
/** The longest that the API server takes of each. */
const pair = fc.tuple(label(63), label(56))

test('ADAPTER-112: a field manager is one adapter’s of one namespace, says which, and has at most 128 characters', () => {
  fc.assert(
    fc.property(pair, pair, ([namespace, adapter], [other, another]) => {
      const manager = fieldManagerOf(namespace, adapter)
      expect(manager.length).toBeLessThanOrEqual(128)
      expect(parseFieldManager(manager)?.namespace).toBe(namespace)
      const isSame = namespace === other && adapter === another
      expect(fieldManagerOf(other, another) === manager).toBe(isSame)
    }),
  )
  const [namespace, adapter] = ['n'.repeat(63), 'a'.repeat(55)]
  expect(fieldManagerOf(namespace, `${adapter}b`)).not.toBe(fieldManagerOf(namespace, `${adapter}c`))
  expect(fieldManagerOf(namespace, `${adapter}b`)).toHaveLength(128)
  expect(parseFieldManager(fieldManagerOf('n', 'dns'))).toEqual({ namespace: 'n', adapter: 'dns' })
})

test('ADAPTER-114: that of a release before is the adapter’s own, and says no namespace', () => {
  const own = ownManagers('n', 'dns')
  const appliedBy = (...managers: string[]) => ({
    metadata: { managedFields: managers.map((manager) => ({ manager, operation: 'Apply' })) },
  })
  expect(isAppliedByOthers(appliedBy('muster-adapter-dns', 'muster-adapter-n/dns', 'kubectl'), own)).toBe(false)
  expect(isAppliedByOthers(appliedBy('muster-adapter-m/dns'), own)).toBe(true)
  expect(isAppliedByOthers(appliedBy('muster-adapter-other'), own)).toBe(true)
  expect(parseFieldManager('muster-adapter-dns')).toBeUndefined()
  expect(parseFieldManager('someone/else')).toBeUndefined()
})

// ADAPTER-116
test('attack: what no adapter writes is no field manager of one: of a subresource, or of what can be no namespace', () => {
  const forged = 'muster-adapter-elsewhere/dns'
  const entry = { manager: forged, operation: 'Apply' }
  expect(managersOf({ metadata: { managedFields: [{ ...entry, subresource: 'status' }] } })).toEqual([])
  expect(managersOf({ metadata: { managedFields: [{ ...entry, operation: 'Update' }] } })).toEqual([])
  expect(managersOf({ metadata: { managedFields: [entry] } })).toEqual([forged])
  const isLabel = (text: string) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && text.length <= 63
  const text = fc.string({ unit: fc.constantFrom('a', '-', '.', 'A', '*', ' ', '%'), maxLength: 70 })
  fc.assert(
    fc.property(text, (namespace) => {
      expect(parseFieldManager(`muster-adapter-${namespace}/dns`)?.namespace).toBe(
        isLabel(namespace) ? namespace : undefined,
      )
    }),
  )
})

// ADAPTER-116
test('attack: a conflict with what was written by an update, or to a subresource, is with no adapter', () => {
  const field = '.data.colour'
  const causes = [
    'conflict with "muster-adapter-n/dns"',
    'conflict with "muster-adapter-n/updates" using v1',
    'conflict with "muster-adapter-n/updates" using v1 at 2026-01-31T12:00:00Z',
    'conflict with "muster-adapter-n/status" with subresource "status"',
  ].map((message) => ({ reason: 'FieldManagerConflict', message, field }))
  const conflict = new ApiError({ kind: 'Status', code: 409, reason: 'Conflict', message: '', details: { causes } })
  expect(conflictingFields(conflict)).toEqual([{ field, manager: 'muster-adapter-n/dns' }])
})
