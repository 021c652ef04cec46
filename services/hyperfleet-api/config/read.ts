import { readFile } from 'node:fs/promises'
import { checkConfig } from './check.ts'
import type { ApiConfig } from './file.ts'

/** Reads a configuration file, YAML or JSON. @throws ConfigError, or Node's error when the file can't be read */
export const readConfig = async (path: string): Promise<ApiConfig> => {
  const text = await readFile(path, 'utf8')
  // Imported when used, as many an API has no file.
  const { parseYaml } = await import('./yaml.ts')
  return checkConfig(parseYaml(text))
}
