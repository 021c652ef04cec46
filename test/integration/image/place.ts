import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Configuration } from '#hack/image/dockerfile.ts'
import type { MusterProcess } from '#test/harness/index.ts'

/** What is run in the image. */
export interface Run {
  readonly args: readonly string[]
  /** In place of the entrypoint. */
  readonly program?: string
  readonly env?: Readonly<Record<string, string>>
  /** Folders of this machine, by their path in the image. Everything else can't be written. */
  readonly volumes?: Readonly<Record<string, string>>
}

/** Where the image is run: in a container, or unpacked in a folder. */
export interface Place extends AsyncDisposable {
  readonly configuration: Configuration
  /** Digests of the files that the image adds to its base, by path. */
  files(): Promise<Readonly<Record<string, string>>>
  /** As the image's user, without privileges, on a root that can only be read. */
  start(run: Run): Promise<MusterProcess>
}

/** Digests of the files below a folder, by path from `/`; of a link, where it leads. */
export const digestsIn = async (folder: string): Promise<Readonly<Record<string, string>>> => {
  const names = await readdir(folder, { recursive: true })
  const entries = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const stat = await lstat(path)
      if (stat.isDirectory()) return []
      const content = stat.isSymbolicLink() ? `-> ${await readlink(path)}` : await readFile(path)
      return [[`/${name}`, createHash('sha256').update(content).digest('hex')] as const]
    }),
  )
  return Object.fromEntries(entries.flat())
}

/** The first without what the second has too. */
export const without = (
  all: Readonly<Record<string, string>>,
  base: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => Object.fromEntries(Object.entries(all).filter(([path]) => !(path in base)))
