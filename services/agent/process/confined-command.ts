/**
 * How a program gets an account of its own, and nothing else: setpriv gives up everything, then a shell enters the folder and gives
 * way to the program. The environment of the program reaches setpriv under other names, because its loader would follow LD_PRELOAD
 * while setpriv still has the rights of the agent; arguments can be read by everyone, so it is not among them. AGENT-42. Pure.
 */
import type { Program } from '../workload.ts'

/** A command as `spawn` takes it. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** The descriptor on which the shell says how far it came. */
export const PROGRESS_DESCRIPTOR = 3

/** What the shell says. */
export type Progress = 'begun' | 'no-folder' | 'no-program' | 'not-executable'

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The arguments of setpriv before those of the command. */
export const asAccount = (uid: number): readonly string[] => [
  `--reuid=${uid}`,
  `--regid=${uid}`,
  '--clear-groups',
  '--no-new-privs',
  '--inh-caps=-all',
  '--ambient-caps=-all',
  '--bounding-set=-all',
  '--',
]

const say = (word: Progress): string => `echo ${word} >&${PROGRESS_DESCRIPTOR}`

const ENTER = `cd "$0" 2>/dev/null || { ${say('no-folder')}; exit 126; }; unset OLDPWD`
const FIND = [
  'case $1 in',
  `*/*) [ -f "$1" ] || { ${say('no-program')}; exit 127; }; [ -x "$1" ] || { ${say('not-executable')}; exit 126; };;`,
  `*) command -v "$1" >/dev/null || { ${say('no-program')}; exit 127; };;`,
  'esac',
]
const BECOME = `exec "$@" ${PROGRESS_DESCRIPTOR}>&-`

/** Under which name a variable reaches the shell. */
const CARRIER = 'muster_variable_'

/** Names that a shell can export. */
const isVariable = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !name.startsWith(CARRIER)

/** Of the variables of a program, those that can't be handed to a confined one. */
export const findBadVariable = (env: Program['env']): string | undefined =>
  Object.keys(env).find((name) => !isVariable(name))

/** @param env Besides those of `program`; all names are variables. */
export const confinedCommand = (
  setpriv: string,
  uid: number,
  folder: string,
  { command, env }: Pick<Program, 'command' | 'env'>,
  home: string,
  mark: Readonly<Record<string, string>>,
): Command => {
  const variables = Object.entries({ PATH, HOME: home, ...env, ...mark })
  const exports = variables.map(([name], index) => `export ${name}="$${CARRIER}${index}"; unset ${CARRIER}${index}`)
  // PATH decides which program is found.
  const script = [ENTER, ...exports, ...FIND, say('begun'), BECOME].join('\n')
  return {
    file: setpriv,
    args: [...asAccount(uid), '/bin/sh', '-c', script, folder, ...command],
    env: Object.fromEntries(variables.map(([, value], index) => [`${CARRIER}${index}`, value])),
  }
}
