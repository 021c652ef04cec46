/** What a page has a person type, on a kind cluster. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import type { KindNodes } from '#test/harness/ground/kind/cluster.ts'

const run = promisify(execFile)

/** One after the other, in one shell. @throws Error with what they printed */
export const runCommands = async (
  commands: readonly string[],
  { cluster }: Pick<KindNodes, 'cluster'>,
  cwd: string,
): Promise<void> => {
  const script = ['set -eo pipefail', ...commands].join('\n')
  const PATH = [binariesFolder(CONTROL_PLANE), process.env.PATH].join(':')
  const env = { ...process.env, PATH, KUBECONFIG: cluster.kubeconfig }
  try {
    await run('bash', ['--noprofile', '--norc', '-c', script], { cwd, env })
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string }
    throw new Error(`${script}\n\nIt printed:\n${stdout}\n${stderr}`, { cause: error })
  }
}
