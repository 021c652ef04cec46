import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { ProcessError } from '../process/errors.ts'

/** Runs kubectl and gives what it prints. The input, when there is one, is its standard input. @throws ProcessError */
export type Kubectl = (args: readonly string[], options?: { readonly input?: string }) => Promise<string>

/**
 * kubectl on this machine.
 * @param command its path or name
 * @param access which cluster: `--kubeconfig` and perhaps `--context`
 */
export const kubectl =
  (command: string, access: readonly string[]): Kubectl =>
  async (args, { input = '' } = {}) => {
    const child = spawn(command, [...access, ...args], { stdio: 'pipe' })
    // A kubectl that ends before it has read everything says why on stderr.
    child.stdin.on('error', () => undefined).end(input)
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    if (code !== 0) throw new ProcessError(`kubectl ${args.join(' ')}: ${errors.trim() || `exit ${code}`}`)
    return output
  }
