import { load, YAMLException } from 'js-yaml'
import { errorOf } from '#lib/errors/error-of.ts'
import type { ApiErrors } from '../errors.ts'

/** A text that is neither YAML nor JSON; the message says where it goes wrong. */
export class YamlError extends errorOf<ApiErrors>('YamlError') {}

/** The content of a YAML document; JSON is YAML. @throws YamlError */
export const parseYaml = (text: string): unknown => {
  try {
    return load(text)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { reason, mark } = error
    const place = mark === undefined ? '' : `line ${mark.line + 1}, column ${mark.column + 1}: `
    throw new YamlError(`${place}${reason}`, { cause: error })
  }
}
