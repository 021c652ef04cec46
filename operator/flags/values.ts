/** How the values of flags are written. Each parser throws an Error whose message says what to write instead. */
import { hintAt } from '#lib/text/nearest.ts'
import { type Binding, parseBinding } from '../binding.ts'
import { parseDuration } from '../model/duration.ts'
import { isNamespaceName } from '../model/namespace.ts'

const quoted = (text: string) => JSON.stringify(text)

export const nonEmpty = (value: string): string => {
  if (value === '') throw new Error('must not be empty')
  return value
}

/** A Kubernetes object name. Kubernetes: RFC 1123 subdomain. */
export const objectName = (value: string): string => {
  if (value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)) return value
  throw new Error(`${quoted(value)} is not an object's name: write lower-case letters, digits, "-" and "."`)
}

/** The name of a namespace. */
export const namespaceName = (value: string): string => {
  if (isNamespaceName(value)) return value
  throw new Error(
    `${quoted(value)} is not a namespace's name: write at most 63 lower-case letters, digits and inner hyphens`,
  )
}

/** A namespace, or '' for all of them. */
export const namespaceOrAll = (value: string): string | undefined => (value === '' ? undefined : objectName(value))

/** `:8080`, `127.0.0.1:8080` or `[::1]:8080`; `0` means not to listen, as controller-runtime has it. */
export const listenAddress = (value: string, where: string): Binding | undefined => parseBinding(value, where)

/** One of a fixed set; the message names the nearest. */
export const oneOf =
  <T extends string>(...choices: readonly T[]) =>
  (value: string): T => {
    const found = choices.find((choice) => choice === value)
    if (found !== undefined) return found
    throw new Error(`${quoted(value)} is not known${hintAt(value, choices)} (valid: ${choices.join(', ')})`)
  }

/** Milliseconds of a duration such as 10s. */
export const duration = (value: string): number => parseDuration(value)

/** A whole number from 0. */
export const count = (value: string): number => {
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new Error(`${quoted(value)} is not a whole number from 0`)
}

/** Some of a fixed set, separated by commas; at least one, each once. */
export const someOf =
  <T extends string>(...choices: readonly T[]) =>
  (value: string): readonly T[] => {
    const one = oneOf(...choices)
    const names = value
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
    if (names.length === 0) throw new Error(`must name at least one (valid: ${choices.join(', ')})`)
    return [...new Set(names.map(one))]
  }

/** A URL of one of these schemes. The message keeps the value to itself: such URLs carry passwords. */
export const urlOf =
  (...schemes: readonly string[]) =>
  (value: string): string => {
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url !== undefined && schemes.includes(url.protocol.slice(0, -1))) return value
    throw new Error(`must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`)
  }

/** One or several such URLs, separated by commas. */
export const serversOf =
  (...schemes: readonly string[]) =>
  (value: string): string => {
    const one = urlOf(...schemes)
    return value
      .split(',')
      .map((url) => one(url.trim()))
      .join(',')
  }

/** Words separated by commas; none at all is allowed. */
export const names = (value: string): readonly string[] =>
  value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?([A-Za-z0-9]([\w.-]*[A-Za-z0-9])?)?$/

/** The same, of keys of labels, and prefixes that end in a slash. A value behind a key would have it match nothing. @param others words that stand for more, such as `*` */
export const labelKeys =
  (...others: readonly string[]) =>
  (value: string): readonly string[] => {
    const keys = names(value)
    const wrong = keys.find((key) => !others.includes(key) && !LABEL_KEY.test(key))
    if (wrong === undefined) return keys
    const [key = ''] = wrong.split('=')
    const instead =
      key !== wrong && LABEL_KEY.test(key) ? `the key alone, ${key}` : 'keys such as site or example.com/site'
    throw new Error(`${JSON.stringify(wrong)} is no key of a label: write ${instead}`)
  }

/** The same, of absolute paths. */
export const absolutePaths = (value: string): readonly string[] => {
  const paths = names(value)
  const relative = paths.find((path) => !path.startsWith('/'))
  if (relative !== undefined) throw new Error(`${JSON.stringify(relative)} is not absolute: begin it with /`)
  return paths
}

/** URLs of HTTP services whose path is a prefix, separated by commas. The message keeps a value with credentials to itself. */
export const httpPrefixes = (value: string): readonly string[] => {
  const prefixes = names(value)
  for (const prefix of prefixes) {
    const url = URL.parse(prefix)
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '')
      throw new Error('each must be http(s)://host[:port][/path] without credentials and query')
  }
  return prefixes
}

/** URLs of NATS servers, separated by commas. The message keeps a value with credentials to itself. */
export const natsServers = (value: string): readonly string[] => {
  const servers = names(value)
  for (const server of servers) {
    const url = URL.parse(server)
    if (url === null || !/^(nats|tls):$/.test(url.protocol) || url.hostname === '' || url.username !== '')
      throw new Error('each must be nats://host[:port] or tls://host[:port] without credentials')
  }
  return servers
}
