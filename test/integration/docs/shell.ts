/** Runs the commands of a page as a reader does: one block after the other, in one bash, at the root of a checkout. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signalGroup } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { goSettings } from '#hack/process/go-settings.ts'
import { forgetGroup, guardGroup } from '#hack/process/reaper.ts'
import { fits } from './output.ts'
import { type Block, type Page, REPOSITORY } from './page.ts'

/** What a reader has when he or she begins with a page. */
export interface PageEnvironment {
  /** Of the cluster that kubectl talks to, when there is one. */
  readonly kubeconfig?: string
  /** The checkout to work in; otherwise one like this repository. */
  readonly checkout?: string
  /** Folders before those of the PATH. */
  readonly programs: readonly string[]
  /** What is printed to the reader and differs each time, by what the pages write for it. */
  readonly printed: Readonly<Record<string, string>>
}

/** A command of a page did something else than the page says. */
class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** How long a page may take, in milliseconds. */
const PATIENCE = 600_000

/** Marks the status of an answer in a block's output; curl is made to print it. */
const ANSWER = '\u001fHTTP '

/** @returns how many seconds each block took, by its first command @throws CommandError */
export const runPage = async (
  page: Page,
  environment: PageEnvironment,
): Promise<readonly (readonly [string, number])[]> => {
  const blocks = page.blocks.filter(({ way }) => way.how === 'here' || way.how === 'beside')
  const folder = await temporaryFolder('docs')
  const notes = join(folder, 'notes')
  await mkdir(notes)
  const checkout = environment.checkout ?? (await checkoutIn(join(folder, 'checkout')))
  const script = join(folder, 'page.sh')
  const steps = blocks.map((block, at) => step(block, at, notes))
  await writeFile(script, ['set -e', ...steps, noteTime(notes)].join('\n'))
  for (const [written, actual] of Object.entries(environment.printed))
    await writeFile(script, (await readFile(script, 'utf8')).replaceAll(written, actual))

  const path = [await reportedCurl(folder), ...environment.programs, process.env.PATH].join(':')
  const env = {
    PATH: path,
    HOME: process.env.HOME,
    LANG: 'C.UTF-8',
    // What all processes of a test run share: test/harness/global.ts.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    NODE_OPTIONS: process.env.NODE_OPTIONS,
    ...goSettings(),
    XDG_STATE_HOME: join(folder, 'state'),
    ...(await ownKubeconfig(environment, folder)),
  }
  const code = await run(script, checkout, env)

  const outputs = await Promise.all(blocks.map((_, at) => readOutput(join(notes, `${at}.txt`))))
  const reached = outputs.filter((output) => output !== undefined).length
  if (code !== 0) {
    const [block, output] = [blocks[reached - 1], outputs[reached - 1]]
    const how = code === null ? `did not end within ${PATIENCE / 1000} s` : `ended with exit code ${code}`
    throw new CommandError(`${page.path}: this ${how}:\n${block?.commands}\n\nIt said:\n${output}`)
  }
  for (const [at, block] of blocks.entries()) judge(page, block, outputs[at] ?? '')
  const begun = (await readFile(join(notes, 'begun.txt'), 'utf8')).trim().split('\n').map(Number)
  return blocks.map(({ commands }, at) => [commands.split('\n')[0] ?? '', (begun[at + 1] ?? 0) - (begun[at] ?? 0)])
}

/** A copy, because pages choose a namespace of their own. */
const ownKubeconfig = async ({ kubeconfig }: PageEnvironment, folder: string): Promise<NodeJS.ProcessEnv> => {
  if (kubeconfig === undefined) return {}
  const copy = join(folder, 'kubeconfig')
  await copyFile(kubeconfig, copy)
  return { KUBECONFIG: copy }
}

/** What pages write to. */
const WRITTEN = ['kustomize', 'manifests']

/** Its entries are those of the repository; what commands write stays here, and they can't reach the repository's history. */
export const checkoutIn = async (folder: string): Promise<string> => {
  await mkdir(folder)
  const entries = (await readdir(REPOSITORY)).filter((entry) => entry !== '.git')
  await Promise.all(
    entries.map((entry) => {
      const [from, to] = [join(REPOSITORY, entry), join(folder, entry)]
      return WRITTEN.includes(entry) ? cp(from, to, { recursive: true }) : symlink(from, to)
    }),
  )
  return folder
}

/** The folder of a curl that tells the status of each answer. */
const reportedCurl = async (folder: string): Promise<string> => {
  const programs = join(folder, 'programs')
  await mkdir(programs)
  const file = join(programs, 'curl')
  const real = `PATH="\${PATH#${programs}:}" exec curl`
  await writeFile(file, `#!/bin/sh\n${real} --write-out '%{stderr}\\n${ANSWER}%{http_code}\\n' "$@"\n`)
  await chmod(file, 0o700)
  return programs
}

const step = (block: Block, at: number, notes: string): string =>
  [noteTime(notes), `exec >"${notes}/${at}.txt" 2>&1`, ...body(block)].join('\n')

const noteTime = (notes: string): string => `echo "$EPOCHREALTIME" >>"${notes}/begun.txt"`

const body = ({ commands, way }: Block): readonly string[] => {
  if (way.how === 'beside')
    return [
      `(\n${commands}\n) &`,
      'disown',
      `until (${way.until}) >/dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.2; done`,
    ]
  if (way.how === 'here' && way.exitCode !== 0)
    return ['set +e', commands, `[ $? = ${way.exitCode} ] || exit 1`, 'set -e']
  return [commands]
}

/** @returns the exit code, null when it did not end in time */
const run = async (script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<number | null> => {
  const shell = spawn('bash', ['--noprofile', '--norc', script], { cwd, env, stdio: 'ignore', detached: true })
  await once(shell, 'spawn')
  const group = shell.pid as number
  guardGroup(group)
  const timer = setTimeout(() => signalGroup(group, 'SIGKILL'), PATIENCE)
  const [code] = (await once(shell, 'exit')) as [number | null]
  clearTimeout(timer)
  await endOf(group)
  forgetGroup(group)
  return code
}

/** Ends what the page left running. */
const endOf = async (group: number): Promise<void> => {
  signalGroup(group, 'SIGTERM')
  for (let tries = 0; tries < 50 && isThere(group); tries++) await new Promise((resolve) => setTimeout(resolve, 100))
  signalGroup(group, 'SIGKILL')
}

const isThere = (group: number): boolean => {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}

const readOutput = (file: string): Promise<string | undefined> => readFile(file, 'utf8').catch(() => undefined)

const judge = (page: Page, { commands, way, output }: Block, said: string): void => {
  const lines = said.split('\n')
  const answers = lines.filter((line) => line.startsWith(ANSWER)).map((line) => Number(line.slice(ANSWER.length)))
  const printed = lines.filter((line) => !line.startsWith(ANSWER)).join('\n')
  const wanted = way.how === 'here' ? way.refused.join(' ') : ''
  const refused = answers.filter((status) => status >= 400).join(' ')
  if (refused !== wanted)
    throw new CommandError(
      `${page.path}: refused is "${refused}" instead of "${wanted}":\n${commands}\n\nIt said:\n${printed}`,
    )
  if (output !== undefined && !fits(output, printed))
    throw new CommandError(`${page.path}: it prints\n${printed}\n\ninstead of\n${output}\n\nThe commands:\n${commands}`)
}
