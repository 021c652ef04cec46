import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Connection } from './rest.ts'

const run = promisify(execFile)

/** Runs kubectl as admin and gives what it prints. @throws with what it prints to stderr when it fails */
export const kubectl =
  ({ binaries, kubeconfig }: Pick<Connection, 'binaries' | 'kubeconfig'>) =>
  async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run(join(binaries, 'kubectl'), [`--kubeconfig=${kubeconfig}`, ...args], {
      maxBuffer: 64 * 1024 * 1024,
    })
    return stdout
  }
