import { expect, test } from 'vitest'
import type { Query } from './client.ts'
import { HyperFleetError } from './error.ts'
import { listInParts } from './list-in-parts.ts'

const ALL = Array.from({ length: 230 }, (_, n) => ({ id: String(n).padStart(4, '0') }))

/** An API that answers pages of at most so many items. */
const apiOf = (most: number) => {
  const asked: Query[] = []
  const list = async (query: Query) => {
    asked.push(query)
    const size = Number(query.size)
    const { after, page = '1' } = query
    const start = after === undefined ? (Number(page) - 1) * size : ALL.filter(({ id }) => id <= after).length
    const items = ALL.slice(start, start + size)
    if (items.length > most) throw new HyperFleetError('APIRefused', 'too large', { status: 413 })
    return { items, total: ALL.length, features: new Set<string>() }
  }
  return { asked, list }
}

test.each([100, 60, 7, 1])(
  'API-173 a page that is refused for its bytes comes in parts, where %i fit',
  async (most) => {
    const { list } = apiOf(most)
    for (const [page, start] of [
      [undefined, 0],
      ['2', 100],
      ['3', 200],
      ['4', 300],
    ] as const) {
      const found = await listInParts({ size: '100', page, labels: 'a=b' }, list)
      expect(found).toMatchObject({ items: ALL.slice(start, start + 100), total: ALL.length })
    }
    for (const after of ['', '0149', '0229'])
      expect((await listInParts({ size: '100', after }, list)).items).toEqual(
        ALL.filter(({ id }) => id > after).slice(0, 100),
      )
  },
)

test('API-173 nothing is asked twice while pages fit, other refusals stand, and so does that of a single record', async () => {
  const { asked, list } = apiOf(100)
  await listInParts({ size: '100' }, list)
  expect(asked).toEqual([{ size: '100' }])
  await expect(listInParts({ size: '100' }, apiOf(0).list)).rejects.toMatchObject({ status: 413 })
  const refused = async () => {
    throw new HyperFleetError('APIRefused', 'no', { status: 403 })
  }
  await expect(listInParts({ size: '100' }, refused)).rejects.toMatchObject({ status: 403 })
})

/** Numbers that look like chance, the same for each seed. */
const chanceOf = (seed: number) => {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test.each([{ size: '60' }, { size: '60', after: '' }])(
  'API-185, attack: records come and go between the parts of %j; each that is there all the time is in it once, in any order of events',
  async (query) => {
    for (let seed = 1; seed <= 500; seed += 1) {
      const chance = chanceOf(seed)
      let changes = 4
      let made = 40
      let records = Array.from({ length: made }, (_, n) => ({ id: String(n).padStart(4, '0') }))
      const all = new Set(records)
      const list = async ({ size = '', page = '1', after }: Query) => {
        const sorted = after === undefined ? records.toReversed() : records.filter(({ id }) => id > after)
        const start = (Number(page) - 1) * Number(size)
        const items = sorted.slice(start, start + Number(size))
        const total = records.length
        while (changes > 0 && chance() < 0.4) {
          changes -= 1
          const one = records[Math.floor(chance() * records.length)]
          if (chance() < 0.5 && one !== undefined) {
            records = records.filter((other) => other !== one)
            all.delete(one)
          } else {
            records = [...records, { id: String(made).padStart(4, '0') }]
            made += 1
          }
        }
        if (items.length > 3) throw new HyperFleetError('APIRefused', 'too large', { status: 413 })
        return { items, total, features: new Set<string>() }
      }
      const { items } = await listInParts(query, list)
      const ids = items.map((item) => (item as { id: string }).id)
      expect([seed, ids.toSorted()]).toEqual([seed, [...new Set(ids)].toSorted()])
      expect([seed, [...all].filter(({ id }) => !ids.includes(id))]).toEqual([seed, []])
    }
  },
)

test('API-185 a page of which records come and go for ever is given up', async () => {
  let total = 0
  const list = async ({ size }: Query) => {
    total += 1
    if (Number(size) > 1) throw new HyperFleetError('APIRefused', 'too large', { status: 413 })
    return { items: [{ id: String(total) }], total, features: new Set<string>() }
  }
  await expect(listInParts({ size: '4' }, list)).rejects.toMatchObject({ reason: 'APIUnreachable' })
})
