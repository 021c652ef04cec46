import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { binariesFolder } from '../controlplane/cache.ts'

/** The full path of a program on the PATH, or undefined. */
export const onPath = (program: string, path = process.env.PATH ?? ''): string | undefined =>
  path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file))

/** Ours when it is built, because its version fits; else the machine's. */
export const findKubectl = (): string | undefined => {
  const built = join(binariesFolder(), 'kubectl')
  return existsSync(built) ? built : onPath('kubectl')
}
