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
