/** The functions of every environment, beside those of the library that need no correction. */
import { conversionFunctions } from './conversions.ts'
import type { CelFunction } from './function.ts'
import { listFunctions } from './lists.ts'
import { optionalFunctions } from './optionals.ts'
import { regexFunctions } from './regex.ts'
import { stringFunctions } from './strings.ts'
import { timeFunctions } from './times.ts'

export const standardFunctions: readonly CelFunction[] = [
  ...conversionFunctions,
  ...stringFunctions,
  ...regexFunctions,
  ...listFunctions,
  ...timeFunctions,
  ...optionalFunctions,
]
