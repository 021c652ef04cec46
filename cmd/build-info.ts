import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What was built, from which source. */
export interface BuildInfo {
  readonly version: string
  /** The Git commit, with `-dirty` behind it when the checkout had changes; `unknown` outside of a repository. */
  readonly commit: string
  /** When that commit was made, RFC 3339; `unknown` outside of a repository. The same source is the same build, whenever it is built. */
  readonly time: string
}

declare global {
  /** BuildInfo as JSON, written into the bundle by hack/build; a checkout has none. */
  var MUSTER_BUILD: string | undefined
}

/** Build info of the bundle, or of the checkout that runs. */
export const buildInfo = (): BuildInfo =>
  globalThis.MUSTER_BUILD === undefined
    ? checkoutInfo(dirname(import.meta.dirname))
    : JSON.parse(globalThis.MUSTER_BUILD)

/** Build info of a checkout: the version of its package.json and the commit that Git has checked out. */
export const checkoutInfo = (root: string): BuildInfo => {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return { version, commit: checkedOut(root), time: commitTime(root) }
}

const checkedOut = (root: string): string =>
  git(root, 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*') ?? 'unknown'

const commitTime = (root: string): string => {
  const seconds = git(root, 'show', '--no-patch', '--format=%ct', 'HEAD')
  return seconds === undefined ? 'unknown' : new Date(Number(seconds) * 1000).toISOString()
}

/** What Git prints; undefined when there is no Git, no repository or no commit. */
const git = (root: string, ...args: readonly string[]): string | undefined => {
  try {
    // Asked for here, since a bundle never starts Git.
    const { execFileSync } = process.getBuiltinModule('node:child_process')
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
