import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { CONTROL_PLANE } from '../controlplane/binaries.ts'
import { binariesFolder } from '../gobuild/set.ts'

/** The full path of a program on the PATH, or undefined. */
export const onPath = (program: string, path = process.env.PATH ?? ''): string | undefined =>
  path
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => existsSync(file))

/** Ours when it is built, because its version fits; else the machine's. */
export const findKubectl = (): string | undefined => {
  const built = join(binariesFolder(CONTROL_PLANE), 'kubectl')
  return existsSync(built) ? built : onPath('kubectl')
}
