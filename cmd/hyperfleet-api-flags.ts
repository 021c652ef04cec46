import { optional } from '#operator/flags/flag.ts'
import { nonEmpty } from '#operator/flags/values.ts'

/** By which the HyperFleet API knows a program. */
export const hyperfleetApiTokenFile = optional(
  'FILE',
  'file with the bearer token for the HyperFleet API, read for every request',
  nonEmpty,
)

/** By which a program knows the HyperFleet API. */
export const hyperfleetApiCa = optional(
  'FILE',
  'certificates of the authorities that the one of the HyperFleet API is of, PEM (default: those of the machine), read for each connection',
  nonEmpty,
)

/** The same of commands that called it `--token-file`. */
export const renamedApiTokenFile = { ...hyperfleetApiTokenFile, formerly: ['tokenFile'] }
