/** Where resources of HTTP services may lead: ADAPTER-55. Why so: docs/decisions/http-resources.md. */
import { lookup as resolve } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** What `--adapter-http-targets` lists. */
export interface HttpAllowlist {
  /** Nothing is listed: no such resource is worked on. */
  readonly isEmpty: boolean
  /** Why a URL must not be requested; undefined when it may. Never repeats the query or the credentials of the URL. */
  refusal(url: string): string | undefined
}

/** @param prefixes URLs: of each the origin has to be the same, and the path has to begin with these segments */
export const httpAllowlist = (prefixes: readonly string[]): HttpAllowlist => {
  const allowed = prefixes.map((prefix) => new URL(prefix))
  return {
    isEmpty: allowed.length === 0,
    refusal(text) {
      const url = URL.parse(text)
      if (url === null || !/^https?:$/.test(url.protocol)) return `${JSON.stringify(text)} is no http(s)://host/path`
      const shown = url.origin + url.pathname
      if (url.username !== '' || url.password !== '')
        return `${shown} is written with credentials: put them into a header, from a param with a file`
      if (isBlocked(hostOf(url))) return `${shown} is a link-local address, where machines keep their credentials`
      if (allowed.some((prefix) => isUnder(url, prefix))) return undefined
      const list = allowed.map(({ href }) => href).join(', ') || 'nothing'
      return `${shown} is not among what --adapter-http-targets lists, which is ${list}`
    },
  }
}

const isUnder = (url: URL, prefix: URL): boolean => {
  if (url.origin !== prefix.origin) return false
  const path = prefix.pathname.replace(/\/+$/, '')
  return url.pathname === path || url.pathname.startsWith(`${path}/`)
}

/** Without the brackets of IPv6. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1')

/** Link-local addresses (RFC 3927, RFC 4291), and those at which clouds serve metadata elsewhere. */
const BLOCKED_ADDRESSES = new BlockList()
BLOCKED_ADDRESSES.addSubnet('169.254.0.0', 16, 'ipv4')
BLOCKED_ADDRESSES.addAddress('100.100.100.200', 'ipv4')
BLOCKED_ADDRESSES.addSubnet('fe80::', 10, 'ipv6')
BLOCKED_ADDRESSES.addAddress('fd00:ec2::254', 'ipv6')

const isBlocked = (address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && BLOCKED_ADDRESSES.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** Resolves a name as Node.js does, unless it leads to a barred address: a name that is allowed may be pointed anywhere later. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    const barred = addresses?.find(({ address }) => isBlocked(address))
    const [first] = addresses ?? []
    if (error !== null) callback(error, [])
    else if (barred !== undefined)
      callback(new Error(`${hostname} leads to ${barred.address}, a link-local address, which is not allowed`), [])
    else if (options.all === true) callback(null, addresses)
    else callback(null, first?.address ?? '', first?.family)
  })
}
