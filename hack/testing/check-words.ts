/** A check of `npm run check`: prints where banned words stand, and exits 1 when there are any. */
import { findBannedWords } from './words.ts'

const uses = findBannedWords()
for (const use of uses) console.log(use)
if (uses.length > 0) {
  console.log('These words are in hack/words.txt: docs/glossary.md has those that we use.')
  process.exitCode = 1
}
