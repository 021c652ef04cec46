import { optional } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'

/** By which the HyperFleet API knows a program. */
export const hyperfleetApiTokenFile = optional(
  'FILE',
  'file with the bearer token for the HyperFleet API, read for every request',
  nonEmpty,
)

/** The same of commands that called it `--token-file`. */
export const renamedApiTokenFile = { ...hyperfleetApiTokenFile, formerly: ['tokenFile'] }
