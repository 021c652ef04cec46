import { Problem } from '../problems/problem.ts'

/**
 * Tenants: a gateway in front of this API says by headers to whom a request belongs. What a tenant creates carries its
 * tenancy for ever, and a tenant sees and changes only what carries exactly its own. Go service: server.tenant.
 */
export interface TenantRules {
  /** With the value `true` the caller is of the system: an adapter or a Sentinel, which sees every tenant's resources. */
  readonly systemHeader: string
  readonly dimensions: readonly TenantDimension[]
  /** The callers that say it, as tokens name them; every caller where there is no authentication. */
  readonly gateways?: readonly string[] | undefined
}

export interface TenantDimension {
  readonly header: string
  /** Its name in a resource's `tenancy`. */
  readonly key: string
  readonly required: boolean
}

export type Tenancy = Readonly<Record<string, string>>

/** Headers of a request, lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

const TENANT_VALUE = /^[A-Za-z0-9._-]{1,63}$/

/** May a header say it? */
export const isTenantValue = (value: string): boolean => TENANT_VALUE.test(value)

/**
 * Whose request it is: a tenancy, or `system`.
 * @throws Problem forbidden when the headers don't say it, or contradict themselves
 */
export const readTenancy = (headers: Headers, { systemHeader, dimensions }: TenantRules): Tenancy | 'system' => {
  const system = headers[systemHeader.toLowerCase()]
  if (system === 'true') return 'system'
  if (system !== undefined && system !== 'false')
    throw new Problem('forbidden', `the header ${systemHeader} must be true, false or left out`)
  const tenancy: Record<string, string> = {}
  for (const { header, key, required } of dimensions) {
    const value = headers[header.toLowerCase()]
    if (value === undefined && !required) continue
    if (value === undefined)
      throw new Problem('forbidden', `the header ${header} is missing: it says to which ${key} the request belongs`)
    if (typeof value !== 'string' || !isTenantValue(value))
      throw new Problem('forbidden', `the header ${header} must be 1 to 63 letters, digits, ".", "_" or "-"`)
    tenancy[key] = value
  }
  return tenancy
}
