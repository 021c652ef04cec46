/** Each function that reads what it can't trust, with inputs that are nearly right. SECURITY-14. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { repetitions } from '#test/harness/deep.ts'
import { withinPatience } from './guard.ts'
import { Near, textsNear, valuesNear } from './inputs.ts'
import { arrivesFrom } from './origin.ts'
import type { FuzzTarget } from './target.ts'
import { TARGETS } from './targets/index.ts'

vi.setConfig({ testTimeout: 3_600_000 })

/** Inputs of each target: a million of all together. */
const INPUTS = repetitions({ deep: Math.ceil(1_000_000 / TARGETS.length), slice: 200 })

const corpusOf = ({ corpus }: FuzzTarget): readonly string[] =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'corpus', `${corpus}.json`), 'utf8'))

const isRefusal = (error: unknown, { refuses }: FuzzTarget): error is Error =>
  refuses.some((one) =>
    (one as unknown) === Error ? error instanceof Error && error.constructor === Error : error instanceof one,
  )

/** Characters of a refusal: it is logged, and may stand in a condition. A task's tells every problem, each longer than what it is about. */
const MAX_OWN_CHARS = 5_000
const MAX_CHARS_EACH = 40

const tries = (target: FuzzTarget, arrives: (value: unknown) => unknown, input: string | Near): void => {
  const size = typeof input === 'string' ? input.length : 0
  try {
    const arrived = input instanceof Near ? arrives(input.value) : input
    if (arrived !== undefined) withinPatience(() => target.read(arrived as never))
  } catch (error) {
    if (!isRefusal(error, target)) throw error
    if (typeof input === 'string') expect(error.message.length).toBeLessThan(MAX_OWN_CHARS + MAX_CHARS_EACH * size)
  }
}

const titles = TARGETS.map((target) => ({
  target,
  title: `${target.file}, ${target.corpus}: ${target.reads.join(', ')}`,
}))

describe.each(titles)('$title', ({ target }) => {
  const corpus = corpusOf(target)
  const isOfTexts = target.from === undefined
  const arrives = arrivesFrom(target.from)

  test('SECURITY-14: reads its corpus', () => {
    for (const text of corpus) tries(target, arrives, isOfTexts ? text : new Near(JSON.parse(text)))
  })

  test('SECURITY-14: reads or refuses what is near it', () => {
    const inputs: fc.Arbitrary<string | Near> = isOfTexts ? textsNear(corpus) : valuesNear(corpus)
    fc.assert(
      fc.property(inputs, (input) => tries(target, arrives, input)),
      { numRuns: INPUTS },
    )
  })
})
