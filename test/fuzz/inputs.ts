/** Inputs that are nearly right: texts of a corpus, cut, repeated, put together and sprinkled with what parsers trip over. */
import { inspect } from 'node:util'
import fc from 'fast-check'

/** Characters of an input. */
const MAX_CHARS = 65_536

/** What has a meaning to some parser, or once had one that was not meant. */
const TOKENS = [
  ...Array.from('[]{}()<>"\'`\\/,;:.=!&|*?#%@~^$-+_0 \n\t'),
  '\u0000',
  '\ud800',
  '\ufeff',
  '\u2028',
  'é',
  '🜁',
  'ß',

  '{{',
  '}}',
  '{%',
  '<<',
  '<<: ',
  '&a ',
  '*a',
  '!!binary ',
  '!!js/function ',
  '---\n',
  '- ',
  '? ',
  '..',
  '~1',
  '~0',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'null',
  'true',
  'NaN',
  'Infinity',
  '1e999',
  '-0',
  '1_0',
  '9007199254740993',
  '99999999999999999999',
  '0x1f',
  '1970-01-01T00:00:00Z',
  '+23:59',
  'not ',
  ' in ',
  ' and ',

  '[?(@.a==1)]',
  '..*',
  '(a+)+$',
  'range . }}',
  'end }}',
  'has(',
  '.map(x, ',
  'file:///etc/passwd',
  '169.254.169.254',
] as const

/** One change of a text, at places that are told in thousandths of its length. */
type Edit =
  | { readonly does: 'insert'; readonly at: number; readonly token: string }
  | { readonly does: 'cut'; readonly at: number; readonly to: number }
  | { readonly does: 'repeat'; readonly at: number; readonly to: number; readonly times: number }
  | { readonly does: 'splice'; readonly at: number; readonly other: string; readonly from: number }

const place = fc.nat(1_000)

const editOf = (corpus: readonly string[]): fc.Arbitrary<Edit> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ does: fc.constant('insert' as const), at: place, token: tokenOf(corpus) }) },
    { weight: 3, arbitrary: fc.record({ does: fc.constant('cut' as const), at: place, to: place }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('repeat' as const), at: place, to: place, times }) },
    {
      weight: 1,
      arbitrary: fc.record({
        does: fc.constant('splice' as const),
        at: place,
        other: fc.constantFrom(...corpus),
        from: place,
      }),
    },
  )

/** Few times as a rule; sometimes deeper than a stack is. */
const times = fc.oneof(fc.integer({ min: 2, max: 5 }), fc.constantFrom(100, 5_000, 30_000))

const tokenOf = (corpus: readonly string[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...TOKENS) },
    { weight: 2, arbitrary: fc.constantFrom(...new Set(corpus.flatMap((text) => text.split(/\b/)))) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  )

const apply = (text: string, edit: Edit): string => {
  const index = (thousandths: number, of = text) => Math.floor((thousandths * of.length) / 1_000)
  const at = index(edit.at)
  switch (edit.does) {
    case 'insert':
      return text.slice(0, at) + edit.token + text.slice(at)
    case 'splice':
      return text.slice(0, at) + edit.other.slice(index(edit.from, edit.other))
    default: {
      const [from, to] = [at, index(edit.to)].toSorted((a, b) => a - b) as [number, number]
      if (edit.does === 'cut') return text.slice(0, from) + text.slice(to)
      const part = text.slice(from, Math.min(to, from + MAX_CHARS / edit.times))
      return text.slice(0, from) + part.repeat(edit.times) + text.slice(to)
    }
  }
}

/** Texts near those of a corpus. @param corpus one at least */
export const textsNear = (corpus: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...corpus), fc.array(editOf(corpus), { maxLength: 6 }))
    .map(([text, edits]) => edits.reduce(apply, text).slice(0, MAX_CHARS))

/** A change of a JSON value, at a place that is counted among all of its places. */
interface Graft {
  readonly at: number
  readonly value: unknown
}

const nasty = fc.constantFrom<unknown>(null, '', 0, -1, 1e308, true, [], {}, '\ud800', 'a'.repeat(5_000))

/** Deeper than stacks are, and less. */
const nested = fc.tuple(fc.boolean(), fc.constantFrom(50, 1_000, 9_000)).map(([isList, levels]): unknown => {
  let value: unknown = 'deep'
  for (let level = 0; level < levels; level++) value = isList ? [value] : { a: value }
  return value
})

const graft: fc.Arbitrary<Graft> = fc.record({
  at: fc.nat(200),
  value: fc.oneof(
    { weight: 6, arbitrary: nasty },
    { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 2, arbitrary: fc.constantFrom(...TOKENS) },
    { weight: 1, arbitrary: nested },
  ),
})

/** Levels at which something is exchanged. */
const GRAFTED_LEVELS = 30

const placesOf = (value: unknown, levels = GRAFTED_LEVELS): number => {
  if (typeof value !== 'object' || value === null || levels === 0) return 1
  return 1 + Object.values(value).reduce<number>((sum, inner) => sum + placesOf(inner, levels - 1), 0)
}

/** The value with what stands at the place exchanged; a place behind the last is counted from the first again. */
const graftInto = (value: unknown, { at, value: other }: Graft): unknown => {
  let left = at % placesOf(value)
  const visit = (one: unknown, levels: number): unknown => {
    if (left-- === 0) return other
    if (typeof one !== 'object' || one === null || levels === 0) return one
    if (Array.isArray(one)) return one.map((inner) => visit(inner, levels - 1))
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, visit(inner, levels - 1)]))
  }
  return visit(value, GRAFTED_LEVELS)
}

/** A value that a report of a failure can show, however deep it is. */
export class Near {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }

  [fc.toStringMethod](): string {
    try {
      return JSON.stringify(this.value).slice(0, 5_000)
    } catch {
      return `deeper than JSON is written: ${inspect(this.value, { depth: 20 })}`.slice(0, 5_000)
    }
  }
}

/** JSON values near those of a corpus. @param corpus JSON texts, one at least */
export const valuesNear = (corpus: readonly string[]): fc.Arbitrary<Near> =>
  fc
    .tuple(
      fc.constantFrom(...corpus.map((text) => JSON.parse(text) as unknown)),
      fc.array(graft, { minLength: 1, maxLength: 3 }),
    )
    .map(([value, grafts]) => new Near(grafts.reduce(graftInto, value)))
