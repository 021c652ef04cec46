/** What an image is made of, as a value: which files of this machine, under which names. */
import { createHash } from 'node:crypto'
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** One path of an image. */
export type Entry =
  /** A file or a folder of this machine. */
  | { readonly from: string }
  /** A symbolic link, and where it leads. */
  | { readonly link: string }
  | { readonly text: string }
  /** An empty folder, with its mode. */
  | { readonly mode: number }

/** By path from `/`. */
export type Entries = Readonly<Record<string, Entry>>

export interface ImageSource {
  /** Short, for people and file names. */
  readonly name: string
  /** Full: docker.io/library/busybox:1.37.0 */
  readonly tag: string
  readonly entries: Entries
  readonly entrypoint?: readonly string[]
  /** uid:gid; root when undefined. */
  readonly user?: string
  readonly env?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
}

/** Folders of this machine as the files and links in them. */
const flat = async (entries: Entries): Promise<Entries> => {
  const all = await Promise.all(Object.entries(entries).map(([path, entry]) => filesOf(path, entry)))
  return Object.fromEntries(all.flat().toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const filesOf = async (path: string, entry: Entry): Promise<readonly (readonly [string, Entry])[]> => {
  if (!('from' in entry) || !(await stat(entry.from)).isDirectory()) return [[path, entry]]
  const found = await readdir(entry.from, { withFileTypes: true })
  const nested = found.map(async (one): Promise<readonly (readonly [string, Entry])[]> => {
    const [source, target] = [join(entry.from, one.name), `${path}/${one.name}`]
    return one.isSymbolicLink() ? [[target, { link: await readlink(source) }]] : filesOf(target, { from: source })
  })
  return (await Promise.all(nested)).flat()
}

/** Names the content of an image: the same files, names and settings give the same digest on every machine. */
export const digestOf = async ({ entries, ...settings }: ImageSource): Promise<string> => {
  const hash = createHash('sha256').update(JSON.stringify(settings))
  for (const [path, entry] of Object.entries(await flat(entries))) {
    hash.update(`\0${path}\0`)
    if ('from' in entry) hash.update(String((await stat(entry.from)).mode & 0o111)).update(await readFile(entry.from))
    else hash.update(JSON.stringify(entry))
  }
  return hash.digest('hex')
}

/** Copies the entries below a folder. */
export const layOut = async (folder: string, entries: Entries): Promise<void> => {
  for (const [path, entry] of Object.entries(await flat(entries))) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true })
    if ('from' in entry) await copyFile(await realpath(entry.from), target)
    else if ('link' in entry) await symlink(entry.link, target)
    else if ('text' in entry) await writeFile(target, entry.text)
    else {
      await mkdir(target, { recursive: true })
      await chmod(target, entry.mode)
    }
  }
}
