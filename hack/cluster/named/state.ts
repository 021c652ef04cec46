import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Identity, isRunning } from '../../process/identity.ts'
import { type Layout, layoutOf, type Part } from '../local/layout.ts'

/** What is remembered of a cluster that lives on after the command that started it. */
export interface State {
  readonly server: string
  readonly binaries: string
  /** In the order of their start. */
  readonly processes: readonly (Identity & { readonly part: Part })[]
  /** False while it is being started. */
  readonly complete: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Where things that people would miss are kept, on the platform's terms. */
export const stateFolder = (env: Environment = process.env, platform = process.platform, home = homedir()): string => {
  if (env.XDG_STATE_HOME) return join(env.XDG_STATE_HOME, 'muster')
  return platform === 'darwin'
    ? join(home, 'Library', 'Application Support', 'muster')
    : join(home, '.local', 'state', 'muster')
}

/** The folder of the cluster with this name: data, credentials, logs and state. */
export const layoutOfCluster = (name: string): Layout => layoutOf(join(stateFolder(), 'clusters', name))

const fileOf = (layout: Layout): string => join(layout.folder, 'state.json')

/** Undefined when there is no such cluster. */
export const readState = async (layout: Layout): Promise<State | undefined> => {
  try {
    return JSON.parse(await readFile(fileOf(layout), 'utf8')) as State
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** All of it or nothing, so that a command that is killed leaves a state that can be read. */
export const writeState = async (layout: Layout, state: State): Promise<void> => {
  await mkdir(layout.folder, { recursive: true, mode: 0o700 })
  const draft = `${fileOf(layout)}.new`
  await writeFile(draft, JSON.stringify(state, undefined, 2), { mode: 0o600 })
  await rename(draft, fileOf(layout))
}

export const removeState = (layout: Layout): Promise<void> => rm(layout.folder, { recursive: true, force: true })

/** The parts that should run and don't. */
export const deadParts = async ({ processes }: State): Promise<readonly Part[]> => {
  const alive = await Promise.all(processes.map(isRunning))
  return processes.filter((_, index) => !alive[index]).map(({ part }) => part)
}
