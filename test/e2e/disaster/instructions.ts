/** What docs/disaster-recovery.md has a person do, run as it stands there. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import { commandsBelow, REPOSITORY, readPage } from '../../integration/docs/page.ts'

const run = promisify(execFile)

const PAGE = 'docs/disaster-recovery.md'

export interface Instructions {
  /** Does what the next block says. @returns what it printed @throws Error with what it said, when it fails or when there is none */
  next(): Promise<string>
  /** The next block is about something else. */
  skip(): void
  /** @throws Error when there are blocks that were not run */
  done(): void
}

export interface Person {
  readonly kubeconfig: string
  /** Where this world has what the page writes otherwise. */
  readonly instead: Readonly<Record<string, string>>
  /** Of the files that commands write and read. */
  readonly folder: string
}

/** Of one section. @param heading as it stands there */
export const instructionsOf = async (heading: string, person: Person): Promise<Instructions> => {
  const page = await readPage(PAGE)
  const setting = commandsBelow(page, 'Before you begin').join('\n')
  const blocks = [...commandsBelow(page, heading)]
  const PATH = [binariesFolder(CONTROL_PLANE), join(REPOSITORY, 'node_modules', '.bin'), process.env.PATH].join(':')
  const env = { ...process.env, PATH, KUBECONFIG: person.kubeconfig, BACKUP: person.folder }
  const once = async (commands: string): Promise<string> => {
    let script = ['set -eo pipefail', setting, commands].join('\n')
    for (const [written, actual] of Object.entries(person.instead)) script = script.replaceAll(written, actual)
    try {
      const { stdout } = await run('bash', ['--noprofile', '--norc', '-c', script], { cwd: REPOSITORY, env })
      return stdout
    } catch (error) {
      const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string }
      throw new Error(`${PAGE}, ${heading}:\n${commands}\n\nIt said:\n${stdout}\n${stderr}`, { cause: error })
    }
  }
  return {
    next: async () => {
      const commands = blocks.shift()
      if (commands === undefined) throw new Error(`${PAGE} has nothing more to do below ${heading}`)
      return once(commands)
    },
    skip: () => void blocks.shift(),
    done: () => {
      if (blocks.length > 0) throw new Error(`${PAGE}, ${heading}: nothing has run\n${blocks.join('\n')}`)
    },
  }
}
