/** The functions that every environment has beside the library's. */
import type { CelFunction } from './function.ts'
import { regexFunctions } from './regex.ts'

export const standardFunctions: readonly CelFunction[] = [...regexFunctions]
