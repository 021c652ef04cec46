import Type, { type Static } from 'typebox'
import { parseTaskAccounts, type TaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import type { IssuerSettings } from '../auth/issuer.ts'
import { ROLES } from '../auth/role.ts'
import { ConfigError } from './config-error.ts'

/** `server.jwt`: issuers of tokens. The Go service's keys, and below them ours for roles, which the Go service has none of. */

const Text = Type.String({ minLength: 1 })
const Roles = Type.Array(Type.Enum([...ROLES]), { minItems: 1 })

const BoundName = Type.String({ pattern: '^([^*]+\\*?|\\*)$' })

const RoleMapping = Type.Object(
  {
    subject: Type.Optional(Text),
    group: Type.Optional(Text),
    roles: Roles,
    /** Adapters and consumer groups that the caller may act for; `dns`, or `dns-*` for all that begin so. */
    adapters: Type.Optional(Type.Array(BoundName)),
    consumers: Type.Optional(Type.Array(BoundName)),
  },
  { additionalProperties: false },
)

const Issuer = Type.Object(
  {
    issuer_url: Text,
    audience: Type.Optional(Text),
    jwk_cert_url: Type.Optional(Text),
    jwk_cert_file: Type.Optional(Text),
    jwk_cert_ca_file: Type.Optional(Text),
    /** A file with a bearer token to ask for the keys with. */
    jwk_cert_token_file: Type.Optional(Text),
    identity_claim: Type.Optional(Text),
    identity_claim_pattern: Type.Optional(Text),
    identity_header: Type.Optional(Text),
    /** Tells its callers from those of other issuers: API-155. */
    name: Type.Optional(Text),
    roles_claim: Type.Optional(Text),
    groups_claim: Type.Optional(Text),
    role_mappings: Type.Optional(Type.Array(RoleMapping)),
    default_roles: Type.Optional(Roles),
    /** Namespaces of Kubernetes whose ServiceAccounts are those of adapter tasks, as --auth-task-accounts has them. */
    task_accounts: Type.Optional(Type.Array(Text)),
  },
  { additionalProperties: false },
)

export const Jwt = Type.Object(
  { enabled: Type.Optional(Type.Boolean()), configs: Type.Optional(Type.Array(Issuer)) },
  { additionalProperties: false },
)

/** The issuers of a section; none when it is switched off. @throws ConfigError */
export const parseIssuers = ({ enabled = true, configs = [] }: Static<typeof Jwt>): readonly IssuerSettings[] => {
  if (!enabled) return []
  if (configs.length === 0)
    throw new ConfigError('server.jwt.configs is empty: name an issuer, or write enabled: false')
  return configs.map((config, at) => parseIssuer(config, `server.jwt.configs[${at}]`))
}

const parseIssuer = (config: Static<typeof Issuer>, where: string): IssuerSettings => ({
  issuer: config.issuer_url,
  shortName: parseName(config.name, where),
  audiences: [parseAudience(config, where)],
  keys: parseKeyLocation(config, where),
  identityClaim: config.identity_claim,
  identityPattern: parsePattern(config.identity_claim_pattern, where),
  identityHeader: config.identity_header,
  rolesClaim: config.roles_claim,
  groupsClaim: config.groups_claim ?? 'groups',
  mappings: config.role_mappings ?? [],
  defaultRoles: config.default_roles ?? [],
  taskAccounts: config.task_accounts?.map((text, at) => parseAccounts(text, `${where}.task_accounts[${at}]`)),
})

const parseAccounts = (text: string, where: string): TaskAccounts => {
  try {
    return parseTaskAccounts(text)
  } catch (error) {
    throw new ConfigError(`${where}: ${messageOf(error)}`, { cause: error })
  }
}

/** It stands before a `/`, in `created_by` and in logs. */
const parseName = (name: string | undefined, where: string): string | undefined => {
  if (name === undefined || /^[a-z0-9.-]{1,63}$/.test(name)) return name
  throw new ConfigError(`${where}.name must be 1 to 63 lower-case letters, digits, "-" or "."`)
}

/** Without one, a token that its holder got for any other program of the issuer would be taken here, and could be replayed. */
const parseAudience = ({ audience }: Static<typeof Issuer>, where: string): string => {
  if (audience !== undefined) return audience
  throw new ConfigError(
    `${where}.audience is missing: name what tokens must be meant for (their aud), such as hyperfleet-api`,
  )
}

const parseKeyLocation = (config: Static<typeof Issuer>, where: string): IssuerSettings['keys'] => {
  const { jwk_cert_url: url, jwk_cert_file: file } = config
  if (url !== undefined && file === undefined) {
    if (!URL.canParse(url)) throw new ConfigError(`${where}.jwk_cert_url is no URL`)
    return { url, caFile: config.jwk_cert_ca_file, tokenFile: config.jwk_cert_token_file }
  }
  if (file !== undefined && url === undefined) return { file }
  throw new ConfigError(`${where} must have one of jwk_cert_url and jwk_cert_file`)
}

const parsePattern = (text: string | undefined, where: string): RegExp | undefined => {
  try {
    return text === undefined ? undefined : new RegExp(text, 'u')
  } catch (error) {
    throw new ConfigError(`${where}.identity_claim_pattern is no regular expression`, { cause: error })
  }
}
