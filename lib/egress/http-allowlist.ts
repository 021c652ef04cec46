/** Where authors of tasks and of SentinelConfigs may have a manager lead: ADAPTER-55, SENTINEL-45. Why so: docs/decisions/http-resources.md. */
import { namesBlockedAddress } from './guarded-lookup.ts'

/** What a flag lists. */
export interface HttpAllowlist {
  /** Nothing is listed: no such resource is worked on. */
  readonly isEmpty: boolean
  /** Why a URL must not be requested; undefined when it may. Never repeats the query or the credentials of the URL. */
  refusal(url: string): string | undefined
}

/**
 * @param prefixes URLs: of each the origin has to be the same, and the path has to begin with these segments
 * @param flag that lists them
 */
export const httpAllowlist = (prefixes: readonly string[], flag: string): HttpAllowlist => {
  const allowed = prefixes.map((prefix) => new URL(prefix))
  return {
    isEmpty: allowed.length === 0,
    refusal(text) {
      const url = URL.parse(text)
      if (url === null || !/^https?:$/.test(url.protocol)) return `${JSON.stringify(text)} is no http(s)://host/path`
      const shown = url.origin + url.pathname
      if (url.username !== '' || url.password !== '')
        return `${shown} is written with credentials: put them into a header, from a param with a file`
      if (namesBlockedAddress(url)) return `${shown} is a link-local address, where machines keep their credentials`
      if (allowed.some((prefix) => isUnder(url, prefix))) return undefined
      const list = allowed.map(({ href }) => href).join(', ') || 'nothing'
      return `${shown} is not among what ${flag} lists, which is ${list}`
    },
  }
}

const isUnder = (url: URL, prefix: URL): boolean => {
  if (url.origin !== prefix.origin) return false
  const path = prefix.pathname.replace(/\/+$/, '')
  return url.pathname === path || url.pathname.startsWith(`${path}/`)
}
