/** API-174. */
import { expect, test } from 'vitest'
import { createVersionSeal } from './version-seal.ts'

const RED = { org: 'red', project: 'p' }
const BLUE = { org: 'blue' }

test.each([0, 1, 1_795_895_305_207_142, Number.MAX_SAFE_INTEGER])(
  'version %i opens for its tenant alone, on every replica',
  (version) => {
    const [one, other] = [createVersionSeal('secret'), createVersionSeal('secret')]
    const sealed = one.seal(version, RED)
    expect(other.open(sealed, { project: 'p', org: 'red' })).toBe(version)
    expect(other.open(sealed, BLUE)).toBeUndefined()
    expect(other.open(sealed, undefined)).toBeUndefined()
    expect(createVersionSeal('of another database').open(sealed, RED)).toBeUndefined()
  },
)

test('two texts of one version differ, and their order says nothing', () => {
  const { seal } = createVersionSeal('secret')
  expect(seal(7, RED)).not.toBe(seal(7, RED))
  const texts = Array.from({ length: 100 }, (_, version) => seal(version, RED))
  expect(texts.toSorted()).not.toEqual(texts)
})

test('attack: a tenant reads very many texts, and tells by those that come twice whether others have written meanwhile; none does', () => {
  const { seal } = createVersionSeal('secret')
  // Of 250,000 texts with 4 bytes of chance some seven come twice; with 12 bytes none does in the life of a key.
  const shown = Array.from({ length: 4_000 }, () => Buffer.from(seal(7, RED), 'base64url'))
  const chance = Array.from({ length: 12 }, (_, at) => new Set(shown.map((bytes) => bytes[at])).size)
  expect(new Set(shown.map(({ length }) => length))).toEqual(new Set([12 + 8 + 16]))
  expect(Math.min(...chance)).toBeGreaterThan(250)
})

test('callers of the system are shown numbers; a tenant that names one is told nothing by it', () => {
  const { seal, open } = createVersionSeal('secret')
  expect(seal(7, undefined)).toBe('7')
  expect(open('7', undefined)).toBe(7)
  for (const text of ['7', '', 'x', '1795895305207142', 'A'.repeat(22), 'A'.repeat(48)])
    expect(open(text, RED)).toBeUndefined()
})
