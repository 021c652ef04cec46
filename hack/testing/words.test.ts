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
  const banned = parseWords('# a comment\n\nname veil\nname let-go\ntext nobody\n')
  const text = 'const letGo = 1 // nobody knows\nconst unveiling = veil()\n'
  expect(usesIn('lib/veil.ts', text, banned)).toEqual([
    { file: 'lib/veil.ts', found: 'veil.ts', word: 'veil' },
    { file: 'lib/veil.ts', line: 1, found: 'letGo', word: 'let-go' },
    { file: 'lib/veil.ts', line: 1, found: 'nobody', word: 'nobody' },
  ])
})

test('a line that is no entry is refused', () => {
  expect(() => parseWords('veil')).toThrow('hack/words.txt: "veil" begins with neither name nor text')
})
