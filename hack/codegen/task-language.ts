import {
  EXAMPLE_VALUES,
  EXPRESSION_EXAMPLES,
  type Example,
  FAULT_EXAMPLES,
  TEMPLATE_EXAMPLES,
} from '#controllers/adapter/language/examples.ts'
import { RESERVED_VARIABLES } from '#controllers/adapter/language/expressions.ts'
import { taskFunctions } from '#controllers/adapter/language/functions.ts'
import { type CelFunction, DEFAULT_LIMITS, standardFunctions } from '#lib/cel/index.ts'
import { templateFunctions } from '#lib/template/functions/index.ts'
import { RENDER_LIMITS } from '#lib/template/render-budget.ts'
import { cell, row } from './table.ts'

const code = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``)
const inRow = (text: string): string => code(text.replaceAll('\n', '⏎')).replaceAll('|', '\\|')

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n')

const examples = (what: string, all: readonly Example[]): string =>
  table(
    [what, 'Gives', ''],
    all.map(({ text, gives, says }) => [
      inRow(text),
      inRow(typeof gives === 'string' ? gives : JSON.stringify(gives)),
      cell(says ?? ''),
    ]),
  )

/** Receivers that are only names, as they are written. */
const written = (signature: string): string =>
  signature
    .replace(/^(Strings|Lists|Optional)Namespace\./, (_, name: string) => `${name.toLowerCase()}.`)
    .replaceAll('<A>', '')

const signatures = (functions: readonly CelFunction[]): string =>
  table(
    ['Function', ''],
    functions
      .filter(({ description }) => description !== undefined)
      .map(({ signature, description }) => [inRow(written(signature)), cell(description ?? '')]),
  )

const LIBRARY =
  'Beside them stands the language itself: `has(a.b)`, `a.?b`, `a[?b]`, `.orValue(x)`, `.hasValue()`, `.optMap(x, …)`, `.all(x, …)`, `.exists(x, …)`, `.exists_one(x, …)`, `.filter(x, …)`, `.map(x, …)`, `.map(x, condition, …)`, `.sortBy(x, key)`, `.distinct()`, `size()`, `type()`, `dyn()`, `bool()`, `.contains()`, `.startsWith()`, `.endsWith()`, `cel.bind(x, value, …)` and `optional.of()`, `optional.none()`. The cases of the [cel-spec](https://github.com/google/cel-spec) are tests; those that fail are listed with their reasons in `lib/cel/conformance/known-failures.ts`.'

const sections = (): string[] => [
  '# The language of tasks',
  'Adapter tasks have two kinds of texts that are filled in: **expressions** (`expression`, `when`) are [CEL](https://cel.dev) and give a value of any type; **templates** (manifests, URLs, headers, bodies, payloads, names) are Go’s text/template and give text. Both are read and checked when a task is loaded: syntax, names of values, names of functions. A mistake that only the values show is an error of the run, which then applies and deletes nothing because of it.',
  `Both see every param and capture by its name, and ${RESERVED_VARIABLES.map((name) => `\`${name}\``).join(', ')}. Expressions write \`clusterId\`, templates \`.clusterId\`.`,
  `The examples on this page look at these values; a test runs each of them:\n\n\`\`\`json\n${JSON.stringify(EXAMPLE_VALUES, null, 2)}\n\`\`\``,
  '## Expressions',
  examples('Expression', EXPRESSION_EXAMPLES),
  '- A missing key is an error, never `false`: write `a.?b.orValue(x)` where a key may be missing.\n- `has(a.b)` and `a.?b` hold null for absent. A plain `a.b` gives null.\n- A number of JSON without a fraction is an int, any other a double: `cluster.generation / 2` is a division of ints.\n- Types are checked where they are known: `"a" + 1` is refused when the task is loaded.\n- `matches` takes [RE2](https://github.com/google/re2/wiki/Syntax) patterns; its time grows with the text only.',
  '### Functions of tasks',
  signatures(taskFunctions(() => new Date(0))),
  '### Standard functions',
  LIBRARY,
  signatures(standardFunctions),
  '## Templates',
  examples('Template', TEMPLATE_EXAMPLES),
  '- A missing key is an error that names it. `index map "key"` gives nothing instead, for `default`.\n- All of Go’s syntax is there: `if`, `else if`, `with`, `range` with `else`, `break` and `continue`, variables, pipelines, parentheses, `define`, `template` and `block`, comments, and `{{-` and `-}}` for white space. The text comes out as Go writes it: more than a thousand cases written down by Go itself are a test.\n- Differences, all of them errors instead of surprises: `printf` with a wrong argument (Go writes `%!d(string=a)` into the text), `int` and `float` of a text that is no number (the Go adapter makes 0 of it), unknown variables and templates already when the task is loaded. Numbers of JSON without a fraction are ints, so 1000000 does not become 1e+06.',
  '### Functions',
  table(
    ['Function', 'Written', ''],
    templateFunctions(() => new Date(0)).map(({ name, usage, description }) => [
      inRow(name),
      inRow(usage),
      cell(description),
    ]),
  ),
  'The time of `now` has `.Format "layout"`, `.Unix`, `.UnixMilli`, `.Year`, `.Month`, `.Day`, `.Weekday`, `.YearDay`, `.Hour`, `.Minute`, `.Second` and `.UTC`. All times are in UTC.',
  '## Faults',
  'An error says what is wrong, where, and what was probably meant.',
  table(
    ['Text', 'Error'],
    FAULT_EXAMPLES.map(({ text, gives }) => [inRow(text), cell(String(gives))]),
  ),
  '## Limits',
  'A text that meets a limit is ended with an error, before others wait for it. A step is a part of the text that is evaluated once; long texts and lists cost more.',
  table(
    ['', 'Expression', 'Template'],
    [
      ['Steps', String(DEFAULT_LIMITS.steps), String(RENDER_LIMITS.steps)],
      ['Time', `${DEFAULT_LIMITS.time} ms`, `${RENDER_LIMITS.time} ms`],
      ['Elements of a list or map', String(DEFAULT_LIMITS.elements), ''],
      ['Characters of a text', String(DEFAULT_LIMITS.text), String(RENDER_LIMITS.output)],
      ['Characters and values of the result', String(DEFAULT_LIMITS.result), String(RENDER_LIMITS.output)],
      ['Characters of the expression', String(DEFAULT_LIMITS.expression), ''],
      ['Lists and maps inside each other', String(DEFAULT_LIMITS.depth), ''],
    ],
  ),
]

/** The reference page of expressions and templates in tasks. */
export const taskLanguageFile = () => ({
  path: 'docs/reference/task-language.md',
  text: `<!-- Generated by "npm run codegen" from controllers/adapter/language/, lib/cel/ and lib/template/: change the function or example there. -->\n${sections().join('\n\n')}\n`,
})
