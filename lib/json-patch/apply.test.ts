import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import specification from 'json-patch-test-suite/spec_tests.json' with { type: 'json' }
import general from 'json-patch-test-suite/tests.json' with { type: 'json' }
import { describe, expect, test } from 'vitest'
import { applyPatches } from './apply.ts'
import type { Json } from './json.ts'
import { PatchError } from './operation.ts'
import { formatPointer, parsePointer } from './pointer.ts'

interface Case {
  readonly comment?: string
  readonly doc: Json
  readonly patch: readonly unknown[]
  readonly expected?: Json
  readonly error?: string
  readonly disabled?: boolean
}

/** The public cases: npm json-patch-test-suite. Those that are disabled there are disabled by their authors. */
describe.each([
  ['RFC 6902, appendix A', specification],
  ['the public suite', general],
])('%s', (_name, all) => {
  const cases = (all as readonly Case[]).filter(({ disabled, patch }) => disabled !== true && patch !== undefined)
  test.each(
    cases.map((one, index) => [`${index} ${one.comment ?? one.error ?? JSON.stringify(one.patch)}`, one] as const),
  )('%s', (_title, { doc, patch, expected, error }) => {
    if (error !== undefined) expect(() => applyPatches(doc, patch)).toThrow(PatchError)
    else expect(applyPatches(doc, patch).document).toEqual(expected ?? doc)
  })
})

describe('refused, with the operation and the reason', () => {
  test.each<[string, Json, readonly unknown[], string]>([
    [
      'replace of what is not there',
      { a: 1 },
      [{ op: 'replace', path: '/b', value: 2 }],
      'operation 0 (replace /b): /b does not exist',
    ],
    [
      'remove of what is not there',
      { a: {} },
      [{ op: 'remove', path: '/a/b' }],
      'operation 0 (remove /a/b): /a/b does not exist',
    ],
    [
      'test of what is not there',
      {},
      [{ op: 'test', path: '/a', value: 1 }],
      'operation 0 (test /a): /a does not exist',
    ],
    ['a test that fails', { a: 2 }, [{ op: 'test', path: '/a', value: 1 }], 'operation 0 (test /a): /a is 2'],
    [
      'an index with a leading zero',
      [1, 2],
      [{ op: 'test', path: '/01', value: 2 }],
      'operation 0 (test /01): /01 does not exist',
    ],
    [
      'an index behind the end',
      [1],
      [{ op: 'add', path: '/3', value: 2 }],
      'operation 0 (add /3): the document has only 1 elements',
    ],
    [
      'a child of a text',
      { s: 'abc' },
      [{ op: 'add', path: '/s/0', value: 'x' }],
      'operation 0 (add /s/0): /s is neither an object nor an array',
    ],
    [
      'the length of an array',
      { a: [1] },
      [{ op: 'copy', from: '/a/length', path: '/n' }],
      'operation 0 (copy /a/length to /n): /a/length does not exist',
    ],
    [
      'an escape that is none',
      {},
      [{ op: 'add', path: '/a~2b', value: 1 }],
      'operation 0 ({"op":"add","path":"/a~2b","value":1}): path /a~2b has a ~ that is neither ~0 (for ~) nor ~1 (for /)',
    ],
    [
      'an operation that every object inherits',
      {},
      [{ op: 'hasOwnProperty', path: '/a' }],
      'operation 0 ({"op":"hasOwnProperty","path":"/a"}): op must be one of add, remove, replace, move, copy, test',
    ],
    [
      'a name that is JavaScript’s own',
      {},
      [{ op: 'add', path: '/__proto__/x', value: 1 }],
      'path /__proto__/x: __proto__ is no name that a document may hold',
    ],
    [
      'a missing value',
      {},
      [{ op: 'add', path: '/a' }],
      'operation 0 ({"op":"add","path":"/a"}): add needs a value; write value: null to mean null',
    ],
    [
      'a missing from',
      {},
      [{ op: 'move', path: '/a' }],
      'operation 0 ({"op":"move","path":"/a"}): from must be a JSON Pointer such as /metadata/name',
    ],
    ['no object', {}, ['remove'], 'operation 0 ("remove"): must be an object with op and path'],
    [
      'removing everything',
      {},
      [{ op: 'remove', path: '' }],
      'operation 0 (remove ): the whole document can’t be removed',
    ],
    [
      'a move into itself',
      { a: {} },
      [{ op: 'move', from: '/a', path: '/a/b' }],
      'operation 0 (move /a to /a/b): /a can’t be moved into itself',
    ],
    [
      'a move to where nothing is left',
      [[1], 2],
      [{ op: 'move', from: '/0', path: '/2' }],
      'operation 0 (move /0 to /2): the document has only 1 elements',
    ],
    [
      'the second operation',
      { a: 1 },
      [
        { op: 'remove', path: '/a' },
        { op: 'remove', path: '/a' },
      ],
      'operation 1 (remove /a): /a does not exist',
    ],
  ])('%s', (_name, document, patches, message) => {
    expect(() => applyPatches(document, patches)).toThrow(new PatchError(0, '', '').constructor as typeof PatchError)
    expect(() => applyPatches(document, patches)).toThrow(message)
  })
})

test('all or nothing: a patch that fails later leaves the document as it was', () => {
  const document = { a: 1 }
  expect(() =>
    applyPatches(document, [
      { op: 'replace', path: '/a', value: 2 },
      { op: 'remove', path: '/b' },
    ]),
  ).toThrow(PatchError)
  expect(document).toEqual({ a: 1 })
})

test('one set of patches serves many documents: its values are not shared with them', () => {
  const patches = [
    { op: 'add', path: '/a', value: { list: [] } },
    { op: 'add', path: '/a/list/-', value: 1 },
  ]
  expect(applyPatches({}, patches).document).toEqual({ a: { list: [1] } })
  expect(applyPatches({}, patches).document).toEqual({ a: { list: [1] } })
  expect(patches[0]?.value).toEqual({ list: [] })
})

test('POOL-44: a path without its first slash is understood, and its author is told', () => {
  const { document, notices } = applyPatches({ metadata: { name: 'x' } }, [
    { op: 'replace', path: 'metadata/name', value: 'foo' },
  ])
  expect(document).toEqual({ metadata: { name: 'foo' } })
  expect(notices).toEqual(['path metadata/name is taken for /metadata/name: begin it with a slash'])
})

describe('a hostile patch touches nothing outside the document', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', '-', '0']
  const pointer = fc.array(fc.constantFrom(...names, 'a', 'b'), { maxLength: 4 }).map(formatPointer)
  const value = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path: pointer, value }),
    fc.record({ op: fc.constant('remove'), path: pointer }),
    fc.record({ op: fc.constantFrom('move', 'copy'), path: pointer, from: pointer }),
  )

  test('whatever it does, it ends with JSON or a PatchError, and prototypes stay what they were', () => {
    const before = [Object.prototype, Array.prototype, Function.prototype, Object].map(
      (one) => Reflect.ownKeys(one).length,
    )
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 5 }), (patches) => {
        try {
          const { document } = applyPatches({ a: [{ b: 1 }, 'text'], b: null }, patches)
          expect(JSON.parse(JSON.stringify(document))).toEqual(document)
        } catch (error) {
          expect(error).toBeInstanceOf(PatchError)
        }
      }),
      { numRuns: 2_000 },
    )
    const after = [Object.prototype, Array.prototype, Function.prototype, Object].map(
      (one) => Reflect.ownKeys(one).length,
    )
    expect(after).toEqual(before)
    expect({} as Record<string, unknown>).not.toHaveProperty('x')
  })

  test('anything at all in place of patches is refused or applied, never a crash', () => {
    fc.assert(
      fc.property(fc.array(fc.anything()), (patches) => {
        try {
          applyPatches({}, patches)
        } catch (error) {
          expect(error).toBeInstanceOf(PatchError)
        }
      }),
    )
  })
})

test('a pointer written is the pointer read', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (tokens) => isDeepStrictEqual(parsePointer(formatPointer(tokens)), tokens)),
  )
})

describe('POOL-62: what a patch makes of a document is bounded', () => {
  const repeated = (times: number, ...operations: readonly object[]) =>
    Array.from({ length: times }, () => operations).flat()

  test.each<[string, readonly unknown[]]>([
    [
      'an array into itself',
      [{ op: 'add', path: '/a', value: ['x'] }, ...repeated(30, { op: 'copy', from: '/a', path: '/a/-' })],
    ],
    [
      'an object into itself',
      [
        { op: 'add', path: '/a', value: {} },
        ...repeated(30, { op: 'copy', from: '/a', path: '/a/b' }, { op: 'copy', from: '/a', path: '/a/c' }),
      ],
    ],
    ['the whole document', repeated(30, { op: 'copy', from: '', path: '/a' }, { op: 'copy', from: '', path: '/b' })],
  ])('copies of %s end before they are more than the manager can hold', (_, patches) => {
    expect(() => applyPatches({}, patches)).toThrow(/: would make more than 100000 values/)
    expect(() => applyPatches({}, patches)).toThrow(PatchError)
  })

  test('so do copies of long texts', () => {
    const patches = [
      { op: 'add', path: '/a', value: ['x'.repeat(1000)] },
      ...repeated(16, { op: 'copy', from: '/a', path: '/a/-' }),
    ]
    expect(() => applyPatches({}, patches)).toThrow(/: would make more than 3145728 characters/)
  })

  test('so do copies of the document to its own end', () => {
    const patches = Array.from({ length: 12 }, (_, step) => ({ op: 'copy', from: '', path: '/a'.repeat(2 ** step) }))
    expect(() => applyPatches({}, patches)).toThrow(/: would make more than 1000 levels/)
  })

  test('copies that fit are made, and moves make nothing', () => {
    const value = Array.from({ length: 49_000 }, () => 0)
    const moves = repeated(4, { op: 'move', from: '/a', path: '/c' }, { op: 'move', from: '/c', path: '/a' })
    const { document } = applyPatches({ a: value }, [{ op: 'copy', from: '/a', path: '/b' }, ...moves])
    expect(document).toEqual({ a: value, b: value })
  })

  test('whatever copies there are, no document is larger than the limits, or it is what the patch began with', () => {
    const paths = fc.constantFrom('', '/a', '/a/-', '/a/0', '/b', '/b/c')
    const copies = fc.array(fc.record({ op: fc.constant('copy'), from: paths, path: paths }), { maxLength: 40 })
    fc.assert(
      fc.property(copies, (patches) => {
        try {
          const { document } = applyPatches({ a: ['x'.repeat(100)], b: { c: ['y'] } }, patches)
          expect(JSON.stringify(document).length).toBeLessThanOrEqual(2 * 3_145_728)
        } catch (error) {
          expect(error).toBeInstanceOf(PatchError)
        }
      }),
    )
  })
})
