import { load, YAMLException } from 'js-yaml'
import { ConfigError } from './config-error.ts'

/** The content of a YAML document; JSON is YAML. @throws ConfigError that says where it is neither */
export const parseYaml = (text: string): unknown => {
  try {
    return load(text)
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { reason, mark } = error
    const place = mark === undefined ? '' : `line ${mark.line + 1}, column ${mark.column + 1}: `
    throw new ConfigError(`${place}${reason}`, { cause: error })
  }
}
