/** Addresses of pages. A name is data: nothing in it leads elsewhere. */

/** A path from segments. The last one never ends in `.json`, which names the twin of a page. */
export const pathTo = (...segments: readonly string[]): string =>
  `/${segments
    .map(encodeURIComponent)
    .join('/')
    .replace(/\.json$/, '%2Ejson')}`

/** The path of an object's page. @param key `namespace/name` or `name` */
export const objectPath = (menu: string, key: string): string => pathTo(menu, ...key.split('/'))

/** The same page with other filters: what is undefined or empty is left out, and the first page is shown. */
export const withQuery = (
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>>,
): string => {
  const next = new URLSearchParams(query)
  if (!('page' in changes)) next.delete('page')
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  return text === '' ? path : `${path}?${text}`
}
