import { parseTaskAccounts, type TaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import { flag, optional, toggle, type Values, type Weakness, weakening } from '#operator/flags/flag.ts'
import { names as listOf, nonEmpty, oneOf, someOf, urlOf } from '#operator/flags/values.ts'
import { SERVICE_ACCOUNT_FOLDER } from '#operator/model/service-account.ts'
import type { RoleMapping } from '#services/hyperfleet-api/auth/claims.ts'
import type { IssuerSettings } from '#services/hyperfleet-api/auth/issuer.ts'
import type { KeyLocation } from '#services/hyperfleet-api/auth/key-source.ts'
import type { Role } from '#services/hyperfleet-api/auth/role.ts'
import { UsageError } from '../failure.ts'

/** Written here too: every command reads this file, and only `muster api` loads the API. */
const ROLES = ['reader', 'editor', 'adapter', 'admin'] as const satisfies readonly Role[]

const role = oneOf(...ROLES)

/** How a flag says what subjects and groups have: `alice@example.com=editor,group:operators=adapter+admin`. A subject may have `=` in it. */
const mappings =
  (word: string, grant: (names: readonly string[]) => Omit<RoleMapping, 'subject' | 'group'>) =>
  (text: string): readonly RoleMapping[] =>
    (text === '' ? [] : text.split(',')).map((entry) => {
      const at = entry.lastIndexOf('=')
      const [name, names] = [entry.slice(0, at).trim(), entry.slice(at + 1).split('+')]
      if (at < 1 || name === '')
        throw new Error(`${JSON.stringify(entry)} is no mapping: write SUBJECT=${word} or group:NAME=${word}+${word}`)
      const granted = grant(names.map((each) => each.trim()))
      return name.startsWith('group:')
        ? { group: name.slice('group:'.length), ...granted }
        : { subject: name, ...granted }
    })

/** An adapter or a consumer group, or how it begins. */
const boundName = (text: string): string => {
  if (/^[^*]+\*?$|^\*$/.test(text)) return text
  throw new Error(`${JSON.stringify(text)} is no name: write it whole, or its beginning and a * at the end`)
}

const nameOf = ({ subject, group }: RoleMapping): string => (group === undefined ? `${subject}` : `group:${group}`)

/** Groups that every user, every account or every account of a namespace is in: an editor of a namespace makes tokens of these. */
const CROWD = /^(system:(authenticated|unauthenticated|serviceaccounts)|\*)$/
const CROWD_OF_NAMESPACE = /^system:serviceaccounts:/

/** Roles of a group that anyone joins; in a namespace, those that also write. */
const rolesOfCrowds = (mapped: readonly RoleMapping[]): Weakness | undefined => {
  const found = mapped.find(({ subject, group, roles }) => {
    const name = group ?? subject ?? ''
    return CROWD.test(name) || (CROWD_OF_NAMESPACE.test(name) && roles.some((each) => each !== 'reader'))
  })
  if (found === undefined) return undefined
  return {
    what: `${nameOf(found)} has the roles ${found.roles.join(', ')}, and in it is every account that someone may make`,
    todo: 'name the subjects, or groups that an administrator fills; accounts of tasks stand in --auth-task-accounts',
  }
}

const boundToAll = (
  mapped: readonly RoleMapping[],
  namesOf: (mapping: RoleMapping) => readonly string[] | undefined,
  does: string,
  todo: string,
): Weakness | undefined => {
  const found = mapped.find((mapping) => namesOf(mapping)?.includes('*'))
  return found && { what: `${nameOf(found)} ${does}`, todo: `name ${todo}, or how their names begin` }
}

/** Flags for one issuer of tokens; several, each with mappings of its own, are for the configuration file. */
export const authFlags = {
  authIssuer: optional('URL', 'take bearer tokens of this issuer (their iss)', nonEmpty),
  authJwksUrl: optional('URL', 'where the issuer publishes its keys', urlOf('https', 'http')),
  authJwksFile: optional('FILE', 'the issuer’s keys in a file instead, read again when it changes', nonEmpty),
  authCaFile: optional(
    'FILE',
    'certificate authorities for the server of --auth-jwks-url (default: public ones)',
    nonEmpty,
  ),
  authKubernetes: toggle('take tokens of this cluster’s service accounts; for an API that runs in a pod'),
  authAudience: flag('NAME', 'what tokens must be meant for (their aud)', nonEmpty, 'hyperfleet-api'),
  authIdentityClaim: optional('CLAIM', 'which claim names the caller (default: email, else sub)', nonEmpty),
  authRolesClaim: optional('CLAIM', 'which claim lists the caller’s roles, e.g. realm_access.roles', nonEmpty),
  authRoles: weakening(
    flag(
      'MAPPING',
      `roles of subjects and groups: SUBJECT=ROLE or group:NAME=ROLE+ROLE, separated by commas (roles: ${ROLES.join(', ')})`,
      mappings('ROLE', (names) => ({ roles: names.map((name) => role(name)) })),
      '',
    ),
    rolesOfCrowds,
  ),
  authAdapters: weakening(
    flag(
      'MAPPING',
      'which adapters a subject or group with the role adapter may report for: SUBJECT=ADAPTER or group:NAME=ADAPTER+ADAPTER, separated by commas; cluster-* is every one that begins so',
      mappings('ADAPTER', (names) => ({ roles: [], adapters: names.map(boundName) })),
      '',
    ),
    (mapped) =>
      boundToAll(mapped, ({ adapters }) => adapters, 'reports for every adapter', 'the adapters that it reports for'),
  ),
  authConsumers: weakening(
    flag(
      'MAPPING',
      'which consumer groups of events they may use, written in the same way',
      mappings('GROUP', (names) => ({ roles: [], consumers: names.map(boundName) })),
      '',
    ),
    (mapped) =>
      boundToAll(mapped, ({ consumers }) => consumers, 'takes the events of every consumer group', 'its own groups'),
  ),
  authTaskAccounts: flag(
    'NAMESPACES',
    'namespaces whose ServiceAccounts are those of adapter tasks, separated by commas, as ACCOUNTS=TASKS where the tasks are in another namespace: each has the role adapter, for the adapter of its own name and the consumer group of the task of that name',
    (text): readonly TaskAccounts[] => listOf(text).map(parseTaskAccounts),
    '',
  ),
  authDefaultRoles: flag(
    'ROLES',
    'what every caller with a good token may do',
    (text): readonly Role[] => (text === '' ? [] : someOf(...ROLES)(text)),
    '',
  ),
}

type AuthOptions = Values<typeof authFlags>

/** The issuer that the flags name, if any. @throws UsageError */
export const issuersOf = (options: AuthOptions): readonly IssuerSettings[] => {
  const { authIssuer, authKubernetes, authAudience, authIdentityClaim, authRolesClaim } = options
  const mappings = [...options.authRoles, ...options.authAdapters, ...options.authConsumers]
  const rules = {
    audiences: [authAudience] as const,
    identityClaim: authIdentityClaim,
    rolesClaim: authRolesClaim,
    groupsClaim: 'groups',
    mappings,
    defaultRoles: options.authDefaultRoles,
    taskAccounts: options.authTaskAccounts,
  }
  if (authKubernetes && authIssuer !== undefined)
    throw new UsageError('--auth-kubernetes: write one of --auth-kubernetes and --auth-issuer')
  if (authKubernetes) {
    const tokenFile = `${SERVICE_ACCOUNT_FOLDER}/token`
    const url = 'https://kubernetes.default.svc/openid/v1/jwks'
    return [
      {
        ...rules,
        issuer: { sameAsTokenFile: tokenFile },
        keys: { url, caFile: `${SERVICE_ACCOUNT_FOLDER}/ca.crt`, tokenFile },
      },
    ]
  }
  if (authIssuer !== undefined) return [{ ...rules, issuer: authIssuer, keys: keysOf(options) }]
  const needless = (['authJwksUrl', 'authJwksFile', 'authRolesClaim'] as const).find(
    (name) => options[name] !== undefined,
  )
  if (needless !== undefined || mappings.length > 0 || options.authTaskAccounts.length > 0)
    throw new UsageError('--auth-issuer: the other --auth flags need it, or --auth-kubernetes')
  return []
}

const keysOf = ({ authJwksUrl, authJwksFile, authCaFile }: AuthOptions): KeyLocation => {
  if ((authJwksUrl === undefined) === (authJwksFile === undefined))
    throw new UsageError('--auth-issuer: its keys come from one of --auth-jwks-url and --auth-jwks-file')
  return authJwksUrl === undefined ? { file: authJwksFile ?? '' } : { url: authJwksUrl, caFile: authCaFile }
}
