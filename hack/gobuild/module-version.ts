import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The version of a module that the go.mod of a folder requires. @throws Error for a module that it does not require */
export const moduleVersion = (folder: string, module: string): string =>
  versionIn(readFileSync(join(folder, 'go.mod'), 'utf8'), module)

/** @param goMod the text of a go.mod */
export const versionIn = (goMod: string, module: string): string => {
  for (const line of goMod.split('\n')) {
    const [name, version] = line
      .replace(/^require /, '')
      .trim()
      .split(' ')
    if (name === module && version?.startsWith('v') === true) return version
  }
  throw new Error(`go.mod requires no module ${module}`)
}
