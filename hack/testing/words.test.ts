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

test('a banned word is found in paths, in declared names and in texts, and only as a whole word', () => {
  const banned = parseWords('# a comment\n\nname veil\nname let-go\nwhole said\ntext nobody\n')
  const text =
    'const letGo = 1 // nobody knows\nconst unveiling = veil()\nconst said = saidBefore\nconst saidBefore = 1\n'
  expect(usesIn('lib/veil.ts', text, banned)).toEqual([
    { file: 'lib/veil.ts', found: 'veil.ts', word: 'veil' },
    { file: 'lib/veil.ts', line: 1, found: 'letGo', word: 'let-go' },
    { file: 'lib/veil.ts', line: 1, found: 'nobody', word: 'nobody' },
    { file: 'lib/veil.ts', line: 3, found: 'said', word: 'said' },
  ])
})

test('a line that is no entry is refused', () => {
  expect(() => parseWords('veil')).toThrow('hack/words.txt: "veil" begins with none of name, whole, text')
})
