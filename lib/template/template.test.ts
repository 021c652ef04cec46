import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { templateCases } from '#hack/templates/cases.ts'
import { compileTemplate, TemplateError, TemplateRenderError, TemplateSyntaxError } from './index.ts'

const now = () => new Date('2026-01-02T15:04:05.678Z')
const render = (template: string, data: Readonly<Record<string, unknown>> = {}): string =>
  compileTemplate(template, { now }).render(data)

const failure = (act: () => unknown): unknown => {
  try {
    return act()
  } catch (error) {
    return error
  }
}

interface Golden {
  readonly data: Readonly<Record<string, unknown>>
  readonly cases: readonly {
    readonly template: string
    readonly output?: string
    readonly error?: 'parse' | 'execute'
  }[]
}
const golden = JSON.parse(readFileSync(new URL('golden.json', import.meta.url), 'utf8')) as Golden

/** Faults that Go sees when it renders, and we when we read the template. */
const SEEN_EARLIER = new Set(['{{ $x = 1 }}', '{{ 9223372036854775808 }}', '{{ template "nope" }}'])

/** What we make of a golden case, in its terms. */
const outcome = (template: string): { readonly output?: string; readonly error?: string } => {
  const result = failure(() => render(template, golden.data))
  if (typeof result === 'string') return { output: result }
  if (result instanceof TemplateSyntaxError) return { error: SEEN_EARLIER.has(template) ? 'execute' : 'parse' }
  if (result instanceof TemplateRenderError) return { error: 'execute' }
  throw result
}

describe('Go’s text/template is the measure', () => {
  test('the golden file holds the cases of hack/templates/cases.ts: run hack/templates/golden.ts after a change', () => {
    expect(golden.cases.map(({ template }) => template)).toEqual(templateCases.map(({ template }) => template))
    expect(golden.cases.length).toBeGreaterThan(1_000)
  })

  test('every case gives the same text, or an error of the same time', () => {
    const differing = golden.cases.flatMap(({ template, output, error }) => {
      // Go marks a wrong printf in its text; here it is an error.
      const expected =
        output?.includes('%!') === true ? { error: 'execute' } : error === undefined ? { output } : { error }
      const found = outcome(template)
      return JSON.stringify(found) === JSON.stringify(expected) ? [] : [{ template, expected, found }]
    })
    expect(differing).toEqual([])
  })
})

describe('errors name the place and what was probably meant', () => {
  const names = ['clusterId', 'cluster', 'event']
  test.each([
    ['{{ .clusterID }}', 'there is no value .clusterID: did you mean clusterId? at line 1, column 4'],
    ['{{ $.clusterID }}', 'did you mean clusterId?'],
    ['a\n{{ uper .clusterId }}', 'there is no function uper: did you mean upper? at line 2, column 4'],
    ['{{ clusterId }}', 'write .clusterId for the value of that name'],
    ['{{ $nam := 1 }}{{ $name }}', 'there is no variable $name: did you mean $nam?'],
    ['{{ if .clusterId }}x', '{{if}} has no {{end}} at line 1, column 4'],
    ['{{ "a }}', 'there is no " at the end of this'],
    ['{{ .clusterId', 'the action does not end'],
    ['{{ end }}', '{{end}} closes nothing'],
    ['{{ range .cluster }}{{ .any }}{{ end }}{{ .other }}', 'there is no value .other'],
  ])('%s', (template, message) => {
    const error = failure(() => compileTemplate(template, { names, now }))
    expect(error).toBeInstanceOf(TemplateSyntaxError)
    expect(error).toMatchObject({ message: expect.stringContaining(message) })
  })

  test.each([
    [
      '{{ .cluster.spec.regon }}',
      'there is no key "regon" in .cluster.spec: did you mean "region"? at line 1, column 4',
    ],
    ['{{ .cluster.nope }}', 'there is no key "nope" in .cluster'],
    ['{{ .cluster.gone.x }}', '.cluster.gone is nothing, so it has no "x"'],
    ['{{ .clusterId.x }}', '.clusterId is a string, so it has no "x"'],
    ['{{ upper .cluster }}', 'upper takes a text here, not a map: upper A'],
    ['{{ replace "a" "b" }}', 'replace takes 3 arguments, not 2: replace A "old" "new"'],
    ['{{ int "12a" }}', '"12a" is no int'],
    ['{{ printf "%d" .clusterId }}', 'printf: %d takes an int, not a string: %v takes anything'],
    ['{{ printf "%d" }}', 'printf: there is no argument for %d'],
    ['{{ printf "%z" 1 }}', 'printf: there is no verb %z'],
    ['{{ index .cluster 0 }}', 'a map is indexed by a text'],
  ])('%s', (template, message) => {
    const data = { clusterId: 'c1', cluster: { spec: { region: 'eu' }, gone: null }, event: {} }
    const error = failure(() => compileTemplate(template, { names, now }).render(data))
    expect(error).toBeInstanceOf(TemplateRenderError)
    expect(error).toMatchObject({ message: expect.stringContaining(message) })
  })
})

test('a template says which values it takes', () => {
  const template =
    '{{ .a.b }}{{ range .list }}{{ .inner }}{{ $.c }}{{ end }}{{ with .d }}{{ .x }}{{ end }}{{ if .e }}{{ end }}'
  expect([...compileTemplate(template, { now }).names]).toEqual(['a', 'list', 'c', 'd', 'e'])
})

describe('limits', () => {
  const limited = (template: string, data = {}): unknown =>
    failure(() => compileTemplate(template, { now, limits: { output: 3_000, steps: 1_000, depth: 10 } }).render(data))

  test.each([
    ['{{ range 1000000000 }}x{{ end }}', 'takes more than 1000 steps'],
    ['{{ range 1000000000 }}{{ end }}', 'takes more than 1000 steps'],
    [
      '{{ range 9 }}{{ range 9 }}{{ range 9 }}{{ range 9 }}{{ end }}{{ end }}{{ end }}{{ end }}',
      'takes more than 1000 steps',
    ],
    ['{{ range 300 }}1234567890ABC{{ end }}', 'longer than 3000 characters'],
    ['{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}', 'more than 10 deep'],
    ['{{ printf "%99999999d" 1 }}', 'is too large'],
    ['{{ $x := "ab" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}', 'longer than 3000 characters'],
    ['{{ range 300 }}{{ $x := upper $.long }}{{ end }}', 'takes more than 1000 steps'],
    ['{{ $x := replace .long "" .long }}', 'longer than'],
  ])('%s', (template, message) => {
    expect(limited(template, { long: 'x'.repeat(2_000) })).toMatchObject({
      name: 'TemplateRenderError',
      message: expect.stringContaining(message),
    })
  })

  test('a rendering that takes longer than its time is stopped by the clock', () => {
    let time = 0
    const template = compileTemplate('{{ range 1000 }}{{ end }}', { now, monotonic: () => (time += 1_000) })
    expect(failure(() => template.render({}))).toMatchObject({
      message: expect.stringContaining('longer than 5000 ms'),
    })
  })

  test('branches inside each other are counted when the template is read', () => {
    const deep = `${'{{ if 1 }}'.repeat(5_000)}${'{{ end }}'.repeat(5_000)}`
    expect(failure(() => compileTemplate(deep, { now }))).toBeInstanceOf(TemplateSyntaxError)
    const blocks = `${'{{ block "x" . }}'.repeat(5_000)}${'{{ end }}'.repeat(5_000)}`
    expect(failure(() => compileTemplate(blocks, { now }))).toBeInstanceOf(TemplateSyntaxError)
    const nested = `{{ ${'('.repeat(20_000)}1${')'.repeat(20_000)} }}`
    expect(failure(() => compileTemplate(nested, { now }))).toBeInstanceOf(TemplateSyntaxError)
  })
})

describe('whatever the template and the data', () => {
  const pieces = fc.constantFrom(
    '{{',
    '}}',
    '{{-',
    '-}}',
    ' ',
    '\n',
    '.',
    '.a',
    '.a.b',
    '$',
    '$x',
    ':=',
    '=',
    '|',
    '(',
    ')',
    ',',
    'if',
    'else',
    'end',
    'range',
    'with',
    'define "t"',
    'template "t"',
    'block "t"',
    'break',
    'continue',
    'nil',
    'true',
    '1',
    '-2.5',
    '0x',
    '"s"',
    '`r`',
    "'c'",
    '"',
    '/*',
    '*/',
    'print',
    'printf "%d"',
    'eq',
    'and',
    'index',
    'slice',
    'len',
    'upper',
    'default',
    'now',
    'date',
    'quote',
    'é',
    '\u0000',
    '.constructor',
    '.__proto__',
    '.toString',
    'index . "__proto__"',
    'text',
  )
  const soup = fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(''))
  const actions = fc
    .array(
      fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => `{{ ${parts.join(' ')} }}`),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('x'))
  const values = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), fc.jsonValue(), {
    maxKeys: 5,
  })

  test('it gives a text or an error of its own', () => {
    fc.assert(
      fc.property(fc.oneof(soup, actions, fc.string()), values, (template, data) => {
        const result = failure(() => render(template, data))
        expect(typeof result === 'string' || result instanceof TemplateError).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('text without braces stays as it is', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('{{')),
        (text) => {
          expect(render(text)).toBe(text)
        },
      ),
    )
  })

  test('any text comes through quote, print and printf whole', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(render('{{ .a }}{{ print .a }}{{ printf "%s%v" .a .a }}', { a: text })).toBe(text.repeat(4))
        expect(JSON.parse(render('{{ .a | quote }}', { a: text.replaceAll(/[^\p{L}\p{N}\p{P} ]/gu, '') }))).toBe(
          text.replaceAll(/[^\p{L}\p{N}\p{P} ]/gu, ''),
        )
      }),
    )
  })

  test.each(['constructor', '__proto__', 'toString', 'prototype', 'length', 'hasOwnProperty', 'valueOf'])(
    'nothing that JavaScript adds to values is reachable: %s',
    (key) => {
      for (const of of ['.map', '.list', '.text', '.number', '.map.inner', '(index .list 0)', '$', 'now']) {
        const template = of === '$' ? `{{ $.${key} }}` : `{{ (${of}).${key} }}`
        const data = { map: { inner: {} }, list: [{}], text: 'x', number: 1 }
        expect(
          failure(() => render(template, data)),
          template,
        ).toBeInstanceOf(TemplateRenderError)
      }
      expect(render(`{{ index .map "${key}" }}`, { map: {} })).toBe('<no value>')
    },
  )

  test('keys that JavaScript holds for special are ordinary', () => {
    const data = JSON.parse('{"map": {"__proto__": 1, "constructor": 2}}') as Record<string, unknown>
    expect(render('{{ .map.__proto__ }} {{ .map.constructor }} {{ .map }}', data)).toBe(
      '1 2 map[__proto__:1 constructor:2]',
    )
  })
})

test('where data alone must decide, there is no clock, and nothing is an error instead of a word of Go', () => {
  const strict = (text: string) => compileTemplate(text, { refusesNothing: true }).render({ map: {} })
  expect(() => strict('{{ now }}')).toThrow('there is no function now')
  expect(() => strict('{{ index .map "a" }}')).toThrow('it gives nothing: write "| default" and a value behind it')
  expect(strict('{{ index .map "a" | default "b" }}')).toBe('b')
})
