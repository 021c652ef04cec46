import { readFile } from 'node:fs/promises'
import type { Logger } from '#operator/model/log.ts'
import { ConfigError } from '../config/config-error.ts'
import type { Entities } from '../model/entity.ts'
import {
  compileSchemas,
  NO_SPEC_SCHEMAS,
  type SchemaRequirement,
  SpecSchemaError,
  type SpecSchemas,
} from './schemas.ts'

/**
 * Reads the file that has the schemas of specs.
 * @param path None is fine as long as no kind requires its schema.
 * @throws SpecSchemaError that names the kind or the file
 */
export const readSpecSchemas = async (
  path: string | undefined,
  entities: Entities,
  log: Logger,
): Promise<SpecSchemas> => {
  const requirements = entities.all.flatMap(({ kind, specSchema }) =>
    specSchema === undefined ? [] : [{ kind, ...specSchema }],
  )
  const warnUnchecked = ({ kind, name }: SchemaRequirement) =>
    log.warn('specs of a kind are not checked: its schema is not there', { kind, schema: name, file: path })
  if (path === undefined) {
    const needs = requirements.find(({ isRequired }) => isRequired)
    if (needs !== undefined)
      throw new SpecSchemaError(`${needs.kind} requires the schema ${needs.name}: name the file that has it`)
    requirements.forEach(warnUnchecked)
    return NO_SPEC_SCHEMAS
  }
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SpecSchemaError(`${path} can't be read (${error.code}): name an OpenAPI or JSON Schema file`, {
      cause: error,
    })
  })
  try {
    // Imported when used: these are a good part of an idle process.
    const { parseYaml } = await import('../config/yaml.ts')
    const document = parseYaml(text)
    const { validatorFor, withNumericLimits } = await import('./dialect.ts')
    return compileSchemas(validatorFor(document), withNumericLimits(document), requirements, warnUnchecked)
  } catch (error) {
    if (error instanceof ConfigError || error instanceof SpecSchemaError)
      throw new SpecSchemaError(`${path}: ${error.message}`, { cause: error })
    throw error
  }
}
