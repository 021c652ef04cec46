/** How devices, their labels and accounts of programs are written in flags. */
import type { ProgramUser, UidRange } from '#services/agent/process/program-users.ts'

/** A DNS-1123 label: it is a part of keys in NATS, where a dot would begin the next part. */
export const isDeviceName = (value: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value)

/** @throws Error that says what a name is made of */
export const deviceName = (value: string): string => {
  if (isDeviceName(value)) return value
  throw new Error(
    `${JSON.stringify(value)} can't be the name of a device: write at most 63 lower-case letters, digits and inner hyphens`,
  )
}

/** The name of an account of the machine. */
export const accountName = (value: string): string => {
  if (/^[a-z_][-a-z0-9_]{0,30}$/.test(value)) return value
  throw new Error(`${JSON.stringify(value)} can't be the name of an account: write one such as root or pump`)
}

/** AGENT-42. */
export const PROGRAM_USERS = ['placement', 'self'] as const satisfies readonly ProgramUser[]

/** What uid_t holds, but for the last one, which means none. */
const MAX_UID = 2 ** 32 - 2
/** Below are the accounts of the system and its people. */
const MIN_UID = 1_000

/** `FIRST-LAST`. @throws Error */
export const parseUidRange = (text: string): UidRange => {
  const [, first, last] = /^(\d{1,10})-(\d{1,10})$/.exec(text) ?? []
  const range = { first: Number(first), last: Number(last) }
  if (range.first >= MIN_UID && range.last > range.first && range.last <= MAX_UID) return range
  throw new Error(`${JSON.stringify(text)} is no range of accounts: write FIRST-LAST, from ${MIN_UID} to ${MAX_UID}`)
}

/** One path that begins with /. */
export const absolutePath = (value: string): string => {
  if (value.startsWith('/')) return value
  throw new Error(`${JSON.stringify(value)} is not absolute: begin it with /`)
}

/** A URL that anyone may read. */
export const withoutUser = (url: string): string => {
  if (new URL(url).username === '') return url
  throw new Error('must name no user: write it without, and give --nats-credentials')
}

/** Kubernetes: labels and selectors, syntax and character set. */
const KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

/** `a=b,c=d`; none at all is allowed. */
export const labels = (value: string): Readonly<Record<string, string>> => {
  const pairs = value
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair): [string, string] => {
      const [key = '', text, ...more] = pair.split('=')
      if (text !== undefined && more.length === 0 && KEY.test(key) && VALUE.test(text)) return [key, text]
      throw new Error(`${JSON.stringify(pair)} is no label: write key=value, as in site=north`)
    })
  const twice = pairs.find(([key], index) => pairs.findIndex(([other]) => other === key) < index)
  if (twice !== undefined) throw new Error(`the label ${twice[0]} is given twice`)
  return Object.fromEntries(pairs)
}
