/** Callers of several issuers in `created_by` and the audit log: equal names are told apart by the issuer (API-155). */
import { ConfigError } from '../config/config-error.ts'

interface Named {
  /** What its tokens have as `iss`. */
  readonly name: string
  /** As the configuration calls it. */
  readonly shortName?: string | undefined
}

/**
 * What stands before the names of each issuer's callers, in the order of the issuers. The first one that has no short name has nothing there:
 * what was written while it was the only one stays true.
 * @throws ConfigError when two would be alike
 */
export const originsOf = (issuers: readonly Named[]): readonly string[] => {
  const plain = issuers.findIndex(({ shortName }) => shortName === undefined)
  for (const [at, { name, shortName }] of issuers.entries())
    if (
      shortName === undefined &&
      issuers.slice(0, at).some((each) => each.shortName === undefined && each.name === name)
    )
      throw new ConfigError(
        `two issuers are ${name} without a name of their own: their callers would be alike in created_by and in the audit log; write a name beside issuer_url, such as that of the cluster`,
      )
  const origins = issuers.map(({ name, shortName }, at) => (at === plain ? '' : `${shortName ?? withoutScheme(name)}/`))
  const twice = origins.find((origin, at) => origins.indexOf(origin) !== at)
  if (twice === undefined) return origins
  throw new ConfigError(`two issuers are named ${twice.slice(0, -1)}: give each a name of its own, beside issuer_url`)
}

/** Of whose callers it is told. */
export interface Origin {
  /** What stands before their names; empty when nothing does. */
  readonly prefix: string
  /** What their tokens have as `iss`. */
  readonly issuer: string
}

/** A prefix whose former issuer is listed no more. */
export interface ReplacedOrigin extends Origin {
  readonly former: string
}

/**
 * Holds the issuers of today against those that have written: what stands before a caller's name tells of one issuer for good.
 * @param recorded The issuer of each prefix, as it was at the start before. @returns prefixes whose issuer gave way to another
 * @throws ConfigError when an issuer would have the prefix of another one that is listed too (API-157)
 */
export const checkOrigins = (
  origins: readonly Origin[],
  recorded: ReadonlyMap<string, string>,
): readonly ReplacedOrigin[] => {
  const listed = new Set(origins.map(({ issuer }) => issuer))
  const replaced = origins.flatMap(({ prefix, issuer }) => {
    const former = recorded.get(prefix) ?? issuer
    return former === issuer ? [] : [{ prefix, issuer, former }]
  })
  const clash = replaced.find(({ former }) => listed.has(former))
  if (clash === undefined) return replaced
  const { prefix, issuer, former } = clash
  const [has, remedy] =
    prefix === ''
      ? ['nothing', `write a name beside its issuer_url, in the file of --config, or list ${former} before it`]
      : [prefix, 'give it another name']
  throw new ConfigError(
    `the callers of ${former} were written into created_by with ${has} before their names, and those of ${issuer} would be taken for them: ${remedy}`,
  )
}

const withoutScheme = (issuer: string): string => issuer.replace(/^https?:\/\//, '').replace(/\/+$/, '')

/**
 * A caller's name with what stands before it.
 * @returns undefined when it would read as the name of another issuer's caller
 */
export const qualify = (origins: readonly string[], at: number, name: string): string | undefined => {
  const origin = origins[at] ?? ''
  const whole = `${origin}${name}`
  const isOfOther = origins.some((other) => other.length > origin.length && whole.startsWith(other))
  return isOfOther ? undefined : whole
}
