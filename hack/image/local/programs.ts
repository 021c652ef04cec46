/** Programs of this machine with the libraries that they load, as entries of an image. */
import { execFile } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Entries } from './source.ts'

const run = promisify(execFile)

/** The libraries that a program or library loads, by their paths; none of a program that is linked statically. */
export const librariesOf = async (program: string): Promise<readonly string[]> => {
  try {
    return (await run('ldd', [program])).stdout.match(/\/\S+/g) ?? []
  } catch (error) {
    if (`${(error as { stdout?: string }).stdout}${(error as Error).message}`.includes('not a dynamic executable'))
      return []
    throw error
  }
}

/** Files at their own paths, with their libraries. */
export const programs = async (...files: readonly string[]): Promise<Entries> => {
  const libraries = await Promise.all(files.map(async (file) => librariesOf(await realpath(file))))
  return Object.fromEntries([...files, ...libraries.flat()].map((path) => [path, { from: path }]))
}

/** Users by their numbers, for programs that want to know their name; a folder for all. */
export const users = (numbers: Readonly<Record<string, number>>): Entries => {
  const all = Object.entries({ root: 0, ...numbers })
  return {
    '/etc/passwd': { text: all.map(([name, id]) => `${name}:x:${id}:${id}::/tmp:/bin/sh\n`).join('') },
    '/etc/group': { text: all.map(([name, id]) => `${name}:x:${id}:\n`).join('') },
    '/tmp': { mode: 0o1777 },
  }
}

const BUSYBOX = '/bin/busybox'

/** A shell and what shell scripts call: Debian's busybox-static. */
export const shell = async (): Promise<Entries> => {
  const applets = (await run(BUSYBOX, ['--list'])).stdout.trim().split('\n')
  const links = applets
    .filter((name) => name !== 'busybox')
    .map((name) => [`/bin/${name}`, { link: 'busybox' }] as const)
  return { ...Object.fromEntries(links), [BUSYBOX]: { from: BUSYBOX } }
}
