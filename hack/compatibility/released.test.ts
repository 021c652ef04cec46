import { expect, test } from 'vitest'
import { customKinds } from '#apis/kinds.ts'
import { definition } from '#apis/schema/definition.ts'
import { describeBreak } from './break.ts'
import { breaks, type Definition } from './definition.ts'
import { ACCEPTED, accepted, definitionsIn, RELEASED } from './released.ts'

const present = customKinds().map((kind) => definition(kind) as unknown as Definition)
const found = breaks(definitionsIn(RELEASED), present)
const keyOf = ({ where, what }: { where: string; what: string }): string => `${where}: ${what}`

test(`nothing of apis/ breaks what the last release has (${RELEASED}), but for what was decided (${ACCEPTED})`, () => {
  expect(found.filter((one) => accepted()[keyOf(one)] === undefined).map(describeBreak)).toEqual([])
})

test('what was decided is still a break, and has its reason', () => {
  const known = found.map(keyOf)
  expect(Object.keys(accepted()).filter((key) => !known.includes(key))).toEqual([])
  for (const reason of Object.values(accepted())) expect(reason.length).toBeGreaterThan(20)
})

test('there is a last release to compare with', () => {
  expect(definitionsIn(RELEASED).length).toBeGreaterThan(0)
})
