import Type, { type Static } from 'typebox'
import type { TenantRules } from '../auth/tenancy.ts'
import { firstDuplicate } from '../model/first-duplicate.ts'
import { ConfigError } from './config-error.ts'

/** `server.tenant`: the headers by which a gateway says whose a request is. The Go service's keys. */

const Name = Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' })

export const Tenant = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    system_header: Name,
    dimensions: Type.Array(
      Type.Object(
        {
          header: Name,
          key: Type.String({ pattern: '^[A-Za-z0-9_.-]{1,63}$' }),
          required: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
      { minItems: 1 },
    ),
    gateways: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description: 'Callers, as tokens name them' }),
    ),
  },
  { additionalProperties: false },
)

/** Headers that say something else already. */
const RESERVED_HEADERS = [
  'authorization',
  'cookie',
  'host',
  'content-length',
  'content-type',
  'accept',
  'accept-encoding',
]

/** The rules of a section; undefined when it is switched off. @throws ConfigError */
export const parseTenantRules = (section: Static<typeof Tenant>): TenantRules | undefined => {
  const { enabled = true, system_header, dimensions, gateways } = section
  if (!enabled) return undefined
  const headers = [system_header, ...dimensions.map(({ header }) => header)].map((header) => header.toLowerCase())
  const duplicate = firstDuplicate(headers) ?? firstDuplicate(dimensions.map(({ key }) => key))
  if (duplicate !== undefined) throw new ConfigError(`server.tenant names ${duplicate} twice`)
  const reserved = headers.find((header) => RESERVED_HEADERS.includes(header))
  if (reserved !== undefined)
    throw new ConfigError(`server.tenant can't use the header ${reserved}, which means something else`)
  // No object takes it as its own, so all tenants would be one.
  if (dimensions.some(({ key }) => key === '__proto__'))
    throw new ConfigError('server.tenant can’t use the key __proto__, which no record can have')
  if (!dimensions.some(({ required }) => required === true))
    throw new ConfigError(
      'server.tenant.dimensions must have one with required: true, or a caller could be of no tenant',
    )
  return {
    systemHeader: system_header,
    dimensions: dimensions.map(({ header, key, required = false }) => ({ header, key, required })),
    ...(gateways !== undefined && { gateways }),
  }
}
