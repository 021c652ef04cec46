import { expect, test } from 'vitest'
import { parseWords, usesIn, wordsOf } from './words.ts'

test.for([
  ['letGo', 'let-go'],
  ['LET_GO', 'let-go'],
  ['HTTPServer', 'http-server'],
  ['begin-again.test.ts', 'begin-again-test-ts'],
] as const)('the words of %s are %s', ([name, words]) => {
  expect(wordsOf(name)).toBe(words)
})

test('a banned word is found in paths, in names, in comments and in texts, and only as a whole word', () => {
  const banned = parseWords(
    '# a comment\n\nname veil\nname let-go\nwhole said\ntext begin-again\ncomment nobody\ncomment who\nexcept people who\nexcept said in lib/x.ts\n',
  )
  const text = [
    'const letGo = 1 // nobody knows',
    'const unveiling = veil()',
    'const said = saidBefore',
    'const saidBefore = `begin-again https://nobody` // begin-again',
    '/** For people who read it, and for who',
    ' * writes it: nobody. */',
    "const quoted = { a: 'nobody // let said: go', b: /['\"`]/.test(text) } // who",
    'interface Shape {',
    '  readonly said?: string',
    '}',
    'const from = (veil: string, { letGo, b }) => veil ? saidBefore : letGo',
    'list.map((said) => said.b)',
  ].join('\n')
  expect(usesIn('lib/veil.ts', text, banned).map(({ line, found, word }) => `${line}: ${found} (${word})`)).toEqual([
    'undefined: veil.ts (veil)',
    '1: letGo (let-go)',
    '1: nobody (nobody)',
    '3: said (said)',
    '4: begin-again (begin-again)',
    '5: who (who)',
    '6: nobody (nobody)',
    '7: who (who)',
    '9: said (said)',
    '11: veil (veil)',
    '11: letGo (let-go)',
    '12: said (said)',
  ])
})

test('a title of a test has banned words of titles, in a table too, and nothing else of a test has', () => {
  const banned = parseWords('title nobody')
  const text = [
    "test('nobody answers', async () => {",
    "  await call('/clusters/nobody')",
    '})',
    "test.each([['nobody', 404]])('%s is not found', () => {})",
    'test.each([',
    "  ['nobody', 404],",
    "])('nobody answers %s', () => {})",
    "test.each([['a path that nobody has', 404]])('%s is not found', () => {})",
  ].join('\n')
  const lines = [1, 7, 8]
  expect(usesIn('lib/x.test.ts', text, banned).map(({ line }) => line)).toEqual(lines)
  expect(usesIn('lib/x.ts', text, banned)).toEqual([])
})

test('a page has no banned words of pages; a source may have them', () => {
  const banned = parseWords('page nobody')
  expect(usesIn('docs/x.md', 'It is deleted\nby nobody.', banned).map(({ line }) => line)).toEqual([2])
  expect(usesIn('lib/x.ts', "call('/clusters/nobody')", banned)).toEqual([])
})

test('no sentence of a page begins with a banned opening, but for questions, headings and code', () => {
  const banned = parseWords('opening What\nopening Who\nexcept who in docs/y.md')
  const text = [
    '## 1. What is held',
    'What a task applied is deleted. It is what a task applied.',
    'It is deleted: [What each means](x.md). Who may create pods',
    'may run as any account.',
    '',
    '**What happens when it is down?** Nothing. What does it cost, and',
    'which of it?',
    '- **What is older** is not taken.',
    '- **API-1** What is older is not taken.',
    '| `a` | What it is, such as b. |',
    '1. What it is, such as b',
    '```',
    'Nothing was changed. What to do next: x',
    '```',
    '*What is signed* is a word.',
  ].join('\n')
  const lines = [2, 3, 8, 9, 10, 11, 15]
  expect(usesIn('docs/x.md', text, banned).map(({ line }) => line)).toEqual(lines)
  expect(usesIn('docs/y.md', text, banned).map(({ line }) => line)).toEqual(lines.filter((line) => line !== 3))
  expect(usesIn('lib/x.ts', text, banned)).toEqual([])
})

test('a message has no banned words of messages: a literal of several words, in no test', () => {
  const banned = parseWords('message nobody')
  const text = "call('nobody', 'answered by nobody') // nobody\nthrow new Error(`the record is nobody's`)"
  expect(usesIn('lib/x.ts', text, banned).map(({ line }) => line)).toEqual([1, 2])
  expect(usesIn('lib/x.test.ts', text, banned)).toEqual([])
  expect(usesIn('test/harness/x.ts', text, banned)).toEqual([])
})

test('configuration has no banned words of texts', () => {
  expect(usesIn('kustomize/x.yaml', '# It is mended.', parseWords('text mended')).map(({ line }) => line)).toEqual([1])
  const yaml = 'a: who # who\nb: "x#who"\n\n  # who\n'
  expect(usesIn('kustomize/x.yaml', yaml, parseWords('comment who')).map(({ line }) => line)).toEqual([1, 4])
})

test('what is said in one file under a banned name stays a fault elsewhere', () => {
  const banned = parseWords('whole said\nexcept said in lib/x.ts')
  expect(usesIn('lib/x.ts', 'const said = 1', banned)).toEqual([])
  expect(usesIn('lib/y.ts', 'const said = 1', banned)).toHaveLength(1)
})

test('a line that is no entry is refused', () => {
  expect(() => parseWords('veil')).toThrow(
    'hack/words.txt: "veil" begins with none of name, whole, comment, message, title, page, opening, except, text',
  )
})
