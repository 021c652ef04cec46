import { basename } from 'node:path'

/** muster's commands that run until they are stopped. */
const SERVICES = new Set(['manager', 'api', 'agent'])

/** Programs that are nothing but what they run. */
const INTERPRETERS = new Set(['node', 'sh', 'bash', 'python3'])

/**
 * What people call a process: `kube-apiserver`, `muster manager`, `test worker`, `node hack/up/up.ts`.
 * @param args its whole command line
 */
export const programName = (args: readonly string[]): string => {
  const [command = '', ...rest] = args
  const program = basename(command.split(' ')[0] ?? '').replace(/:$/, '')
  // PostgreSQL's and nginx's children say what they do in the place of their arguments.
  if (!INTERPRETERS.has(program)) return /^postgres\b/.test(program) ? 'postgres' : program
  const script = rest.find((arg) => !arg.startsWith('-'))
  if (script === undefined) return program
  const name = basename(script)
  if (script.includes('/vitest/')) return 'test worker'
  if (!/^muster\.m?[jt]s$/.test(name)) return program === 'node' ? `node ${name}` : program
  const verb = rest[rest.indexOf(script) + 1] ?? ''
  return SERVICES.has(verb) ? `muster ${verb}` : 'muster, other commands'
}
