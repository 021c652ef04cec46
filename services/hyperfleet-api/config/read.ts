import { readFile } from 'node:fs/promises'
import { checkConfig } from './check.ts'
import { ConfigError } from './config-error.ts'
import type { ApiConfig } from './file.ts'
import { parseYaml, YamlError } from './yaml.ts'

/** Reads a configuration file, YAML or JSON. @throws ConfigError, or Node's error when the file can't be read */
export const readConfig = async (path: string): Promise<ApiConfig> => {
  const text = await readFile(path, 'utf8')
  try {
    return checkConfig(parseYaml(text))
  } catch (error) {
    throw error instanceof YamlError ? new ConfigError(error.message, { cause: error }) : error
  }
}
