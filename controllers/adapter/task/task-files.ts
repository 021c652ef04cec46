import { readFileSync, realpathSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import type { Files } from './read/resources.ts'

/** The files in a folder; what lies outside of it, also by a link, is not there. */
export const filesInFolder =
  (folder: string): Files =>
  (name) => {
    try {
      const path = realpathSync(join(folder, name))
      const inside = relative(realpathSync(folder), path)
      if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return undefined
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  }
