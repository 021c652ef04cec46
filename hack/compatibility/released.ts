import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import type { Definition } from './definition.ts'

const root = join(import.meta.dirname, '../..')

/** The CustomResourceDefinitions of the last release, which what is written now is compared with. */
export const RELEASED = 'manifests/released'

/** Breaks that were decided on, by what `describeBreak` says of them, each with its reason; the next release takes them all out. */
export const ACCEPTED = 'hack/compatibility/accepted.yaml'

/** The definitions in a folder of manifests. @param folder relative to the repository */
export const definitionsIn = (folder: string): readonly Definition[] =>
  globSync('*.yaml', { cwd: join(root, folder) })
    .toSorted()
    .map((file) => load(readFileSync(join(root, folder, file), 'utf8')) as Definition)

/** Where and what of each accepted break, to its reason. */
export const accepted = (): Readonly<Record<string, string>> =>
  (load(readFileSync(join(root, ACCEPTED), 'utf8')) ?? {}) as Record<string, string>
