/** What an agent needs to give programs accounts of their own: told from /proc/self. Pure. capabilities(7), user_namespaces(7) */
import type { UidRange } from './program-users.ts'

/** By their numbers. */
const CAPABILITIES = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
} as const

/** Of an agent whose programs have accounts of their own: for their folders, for their end, and for their beginning. */
export const NEEDED_CAPABILITIES = Object.keys(CAPABILITIES)

/** @param status `/proc/self/status` */
export const findMissingCapabilities = (status: string): readonly string[] => {
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  return Object.entries(CAPABILITIES)
    .filter(([, number]) => (effective & (1n << BigInt(number))) === 0n)
    .map(([name]) => name)
}

/** Whether the machine, or the container, has these accounts. @param map `/proc/self/uid_map`, or `gid_map` */
export const hasAccounts = (map: string, { first, last }: UidRange): boolean =>
  map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([inside = 0, , count = 0]) => inside <= first && last < inside + count)
