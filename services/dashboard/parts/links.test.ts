import { expect, test } from 'vitest'
import { objectPath, pathTo, withQuery } from './links.ts'
import { matching, paged } from './listing.ts'

test('a name leads nowhere else, whatever it holds', () => {
  expect(pathTo('pools', 'a', '../b?c#d')).toBe('/pools/a/..%2Fb%3Fc%23d')
  expect(pathTo('pools', 'a', 'javascript:alert(1)')).toBe('/pools/a/javascript%3Aalert(1)')
  expect(objectPath('pools', 'a/b.json')).toBe('/pools/a/b%2Ejson')
})

test('another filter begins at the first page and keeps the rest of the query', () => {
  const query = new URLSearchParams('q=eu&state=failed&page=7')
  expect(withQuery('/devices', query, { state: 'offline' })).toBe('/devices?q=eu&state=offline')
  expect(withQuery('/devices', query, { page: '8' })).toBe('/devices?q=eu&state=failed&page=8')
  expect(withQuery('/devices', query, { q: '', state: undefined })).toBe('/devices')
})

test('a page that does not exist is the nearest that does', () => {
  const rows = Array.from({ length: 120 }, (_, at) => at)
  const at = (page: string) => paged(rows, new URLSearchParams({ page }))
  expect(at('3')).toMatchObject({ page: 3, pages: 3, total: 120, rows: rows.slice(100) })
  for (const page of ['4', '99999999', 'Infinity']) expect([1, 3]).toContain(at(page).page)
  for (const page of ['0', '-1', '1.5', 'x', '']) expect(at(page).page).toBe(1)
  expect(paged([], new URLSearchParams())).toEqual({ rows: [], total: 0, page: 1, pages: 1 })
})

test('a filter finds what holds every word, in any case', () => {
  const fits = matching(new URLSearchParams({ q: ' REGION=eu  edge' }))
  expect(fits('edge-7 region=eu')).toBe(true)
  expect(fits('edge-7 region=us')).toBe(false)
  expect(matching(new URLSearchParams())('anything')).toBe(true)
})
