import { readFile } from 'node:fs/promises'
import { checkConfig } from './check.ts'
import type { ApiConfig } from './file.ts'
import { parseYaml } from './yaml.ts'

/** Reads a configuration file, YAML or JSON. @throws ConfigError, or Node's error when the file can't be read */
export const readConfig = async (path: string): Promise<ApiConfig> =>
  checkConfig(parseYaml(await readFile(path, 'utf8')))
