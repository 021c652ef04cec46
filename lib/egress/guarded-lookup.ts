/** Keeps requests from addresses at which machines and clouds serve credentials. Why so: docs/decisions/http-resources.md. */
import { lookup as resolve } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** Link-local addresses (RFC 3927, RFC 4291), and those at which clouds serve metadata elsewhere, as CIDRs. */
export const BLOCKED_RANGES = {
  ipv4: ['169.254.0.0/16', '100.100.100.200/32'],
  ipv6: ['fe80::/10', 'fd00:ec2::254/128'],
} as const

const BLOCKED_ADDRESSES = new BlockList()
for (const family of ['ipv4', 'ipv6'] as const)
  for (const range of BLOCKED_RANGES[family]) {
    const [network = '', prefix] = range.split('/')
    BLOCKED_ADDRESSES.addSubnet(network, Number(prefix), family)
  }

/** Is it such an address? A name is none. */
export const isBlocked = (address: string): boolean => {
  const family = isIP(address)
  return family !== 0 && BLOCKED_ADDRESSES.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** Whether a URL names such an address itself; a name that leads to one is found by `guardedLookup`. */
export const namesBlockedAddress = ({ hostname }: URL): boolean => isBlocked(hostname.replace(/^\[(.*)\]$/, '$1'))

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
