import { adapterConditionType } from '#apis/hyperfleet.redhat.com/adapter-condition.ts'
import { ConfigError } from '../config/config-error.ts'
import { type EntityConfig, namedAdapters } from './entity-config.ts'
import { firstDuplicate } from './first-duplicate.ts'

/** A kind that can't be served; the message says which and what to write. */
export const entityError = (message: string): ConfigError => new ConfigError(`entities: ${message}`)

const KIND = /^[A-Z][A-Za-z0-9]*$/
const PLURAL = /^[a-z][a-z0-9-]*$/
const REFERENCE = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/
/** Paths that are not kinds. */
const RESERVED_PLURALS = new Set([
  'events',
  'archive',
  'resources',
  'kinds',
  'openapi',
  'openapi.html',
  'statuses',
  'force-delete',
])

/** What can be said of a kind by itself. @throws ConfigError */
export const checkEntity = (config: EntityConfig): void => {
  const { kind, plural, name_min_len = 1, name_max_len = 100 } = config
  if (!KIND.test(kind)) throw entityError(`kind ${JSON.stringify(kind)} must be UpperCamelCase, such as Cluster`)
  if (!PLURAL.test(plural)) throw entityError(`plural ${JSON.stringify(plural)} must be lower case, such as clusters`)
  if (RESERVED_PLURALS.has(plural)) throw entityError(`plural ${plural} is a path of the API itself, choose another`)
  if (!(Number.isInteger(name_min_len) && name_min_len >= 1 && name_min_len <= name_max_len && name_max_len <= 100))
    throw entityError(`${kind} needs 1 <= name_min_len <= name_max_len <= 100`)
  if (config.on_parent_delete !== undefined && config.parent_kind === undefined)
    throw entityError(`${kind} has on_parent_delete but no parent_kind: name its parent, or leave both out`)
  if (config.require_spec_schema === true && config.spec_schema_name === undefined)
    throw entityError(`${kind} has require_spec_schema but no spec_schema_name: name the schema`)
  const adapters = namedAdapters(config.required_adapters ?? [])
  const duplicate = firstDuplicate(adapters)
  if (duplicate !== undefined) throw entityError(`${kind} requires the adapter ${duplicate} twice, name it once`)
  const type = firstDuplicate(adapters.map(adapterConditionType))
  if (type !== undefined) throw entityError(`${kind} requires two adapters that both give the condition ${type}`)
  checkReferences(config)
}

const checkReferences = ({ kind, references = [] }: EntityConfig): void => {
  const duplicate = firstDuplicate(references.map(({ ref_type }) => ref_type))
  if (duplicate !== undefined) throw entityError(`${kind} has the reference ${duplicate} twice, remove one`)
  for (const { ref_type, min = 0, max = Number.POSITIVE_INFINITY } of references) {
    if (!REFERENCE.test(ref_type))
      throw entityError(
        `ref_type ${JSON.stringify(ref_type)} of ${kind} must be letters, digits, _ and -, such as wif_config`,
      )
    if (!(min >= 0 && max >= 1 && min <= max))
      throw entityError(
        `reference ${ref_type} of ${kind} needs 0 <= min <= max and 1 <= max; without a limit leave max out`,
      )
  }
}
