import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '#hack/process/folder.ts'

const run = promisify(execFile)

/** A git repository on disk that a test commits to. */
export interface GitRepository {
  readonly folder: string
  /** file://…, what an Application names. */
  readonly url: string
  /** Copies folders or files of this checkout (paths relative to it) to the same paths. They are part of the next commit. */
  take(...paths: readonly string[]): Promise<void>
  /** The text of a file. */
  read(path: string): Promise<string>
  /** Writes these files, removes those whose text is undefined, commits everything, and gives the commit's name. */
  commit(message: string, files?: Readonly<Record<string, string | undefined>>): Promise<string>
  /** Commits the opposite of the last commit. */
  revert(): Promise<string>
  /** The last commit. */
  head(): Promise<string>
  /**
   * From now on everything that is committed or pushed to it is pushed to this other repository too.
   * @param remote As git takes it; `ext::` is allowed.
   */
  mirror(remote: string): Promise<void>
  /** A clone that may push to it, with an author: its folder. */
  clone(): Promise<string>
}

const CHECKOUT = join(import.meta.dirname, '..', '..')

const TO_MIRROR = ['push', '--quiet', 'mirror', 'main']

/** An empty repository with the branch main. It goes with the test run. */
export const gitRepository = async (): Promise<GitRepository> => {
  const folder = await temporaryFolder('git')
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
  const git = async (...args: readonly string[]) =>
    (await run('git', [...author, ...args], { cwd: folder })).stdout.trim()
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'receive.denyCurrentBranch', 'updateInstead')
  let isMirrored = false
  const committed = async () => {
    if (isMirrored) await git(...TO_MIRROR)
    return git('rev-parse', 'HEAD')
  }
  return {
    folder,
    url: `file://${folder}`,
    take: async (...paths) => {
      for (const path of paths) {
        // Tests beside the manifests are no manifests.
        const filter = (source: string) => !source.endsWith('.test.ts')
        await cp(join(CHECKOUT, path), join(folder, path), { recursive: true, filter })
      }
    },
    read: (path) => readFile(join(folder, path), 'utf8'),
    commit: async (message, files = {}) => {
      for (const [path, text] of Object.entries(files)) {
        const file = join(folder, path)
        await mkdir(dirname(file), { recursive: true })
        await (text === undefined ? rm(file) : writeFile(file, text))
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--message', message)
      return committed()
    },
    mirror: async (remote) => {
      await git('config', 'protocol.ext.allow', 'always')
      await git('remote', 'add', 'mirror', remote)
      await writeFile(join(folder, '.git/hooks/post-receive'), `#!/bin/sh\nexec git ${TO_MIRROR.join(' ')}\n`, {
        mode: 0o755,
      })
      isMirrored = true
    },
    head: () => git('rev-parse', 'HEAD'),
    clone: async () => {
      const copy = await temporaryFolder('clone')
      await git('clone', '--quiet', folder, copy)
      await run('git', ['config', 'user.name', 'test'], { cwd: copy })
      await run('git', ['config', 'user.email', 'test@example.com'], { cwd: copy })
      return copy
    },
    revert: async () => {
      await git('revert', '--no-edit', 'HEAD')
      return committed()
    },
  }
}
