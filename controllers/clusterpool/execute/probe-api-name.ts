/** Looks whether the API name of a cluster resolves and nothing answers there. */
import { Resolver } from 'node:dns/promises'
import { BlockList, connect, isIP } from 'node:net'
import { isBlocked } from '#lib/egress/guarded-lookup.ts'
import type { ConditionInput } from '#operator/model/conditions.ts'

/** Where to look; as the system has it when absent. Tests have name servers and clusters of their own. */
export interface PreflightSettings {
  /** Name servers, `address:port`. */
  readonly servers?: readonly string[]
  /** Of the clusters' API servers. */
  readonly port?: number
  /** Addresses that are not to be asked. */
  readonly isBarred?: (address: string) => boolean
}

/** Of a name server, and of an address that is tried; milliseconds. */
const TIMEOUT_MS = 2_000
const MAX_ADDRESSES = 4
const API_PORT = 6_443
const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** What a look at a cluster's name has found. */
export type Finding = Pick<ConditionInput, 'status' | 'reason' | 'message'>

/** @param host The name of the cluster's API server. */
export const probeApiName = async (
  host: string,
  { servers, port = API_PORT, isBarred = isOff }: PreflightSettings,
): Promise<Finding> => {
  const refuse = (reason: string, message: string): Finding => ({ status: 'False', reason, message })
  if (!HOST_NAME.test(host)) return refuse('NoName', `${host.slice(0, 260)} is no name in DNS`)
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  const addresses = await resolve(resolver, host)
  if (addresses.length === 0)
    return refuse('NotResolved', `${host} is not in DNS: add it, or correct the customization`)
  const barred = addresses.find(isBarred)
  if (barred !== undefined) return refuse('AddressBarred', `${host} leads to ${barred}, where no cluster can be`)
  const answers = await Promise.all(addresses.slice(0, MAX_ADDRESSES).map((address) => isAnswering(address, port)))
  const inUse = addresses.find((_, index) => answers[index] === true)
  return inUse === undefined
    ? { status: 'True', reason: 'Free', message: `${host} resolves, and nothing answers there` }
    : refuse('Answers', `${host} (${inUse}) answers already: another cluster has this name or address`)
}

/** The machine itself. */
const OWN_ADDRESSES = new BlockList()
OWN_ADDRESSES.addSubnet('127.0.0.0', 8, 'ipv4')
OWN_ADDRESSES.addSubnet('0.0.0.0', 8, 'ipv4')
OWN_ADDRESSES.addAddress('::1', 'ipv6')
OWN_ADDRESSES.addAddress('::', 'ipv6')

const isOff = (address: string): boolean =>
  isBlocked(address) || OWN_ADDRESSES.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** No address when the name is not there, or no name server tells. */
const resolve = async (resolver: Resolver, host: string): Promise<readonly string[]> => {
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
}

const isAnswering = (host: string, port: number): Promise<boolean> =>
  new Promise((resolveWith) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS })
    const end = (answers: boolean) => {
      socket.destroy()
      resolveWith(answers)
    }
    socket.on('connect', () => end(true))
    socket.on('timeout', () => end(false))
    socket.on('error', () => end(false))
  })
