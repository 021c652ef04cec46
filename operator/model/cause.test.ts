import { describe, expect, it } from 'vitest'
import { detectCause } from './cause.ts'
import { declaredStateOf } from './declared-state.ts'

const finalizer = 'muster.dev/widgets'
const widget = (size: number, metadata: { deletionTimestamp?: string; finalizers?: string[] } = {}) => ({
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { name: 'one', uid: 'u', resourceVersion: '1', ...metadata },
  spec: { size },
})
const deletionTimestamp = '2026-01-01T00:00:00Z'
const handled = declaredStateOf(widget(1))

describe('the cause', () => {
  it.each([
    ['gone', 'it is not there', undefined, handled, false],
    [
      'free',
      'it is deleted and waits for others',
      widget(1, { deletionTimestamp, finalizers: ['x/y'] }),
      handled,
      false,
    ],
    [
      'delete',
      'it is deleted and waits for us',
      widget(1, { deletionTimestamp, finalizers: [finalizer] }),
      handled,
      true,
    ],
    ['create', 'it was never handled', widget(1), undefined, false],
    ['create', 'it was never handled and is found at the start', widget(1), undefined, true],
    ['resume', 'it was handled before the start', widget(1), handled, true],
    ['noop', 'nothing that is declared changed', widget(1), handled, false],
    ['update', 'the spec changed', widget(2), handled, false],
    ['update', 'the spec changed before the start', widget(2), handled, true],
  ] as const)('is %s when %s', (type, _, object, old, initial) => {
    expect(detectCause({ object, handled: old, initial, finalizer }).type).toBe(type)
  })

  it('says what changed', () => {
    expect(detectCause({ object: widget(2), handled, initial: false, finalizer }).diff).toEqual([
      { op: 'change', path: ['spec', 'size'], old: 1, new: 2 },
    ])
  })
})
