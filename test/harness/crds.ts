import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, kubectlOf } from './connection.ts'

/** The generated CRDs. */
export const CRDS = join(import.meta.dirname, '..', '..', 'manifests', 'crds')

/** Installs the generated CRDs and waits until the API server serves them. */
export const installCrds = async (connection: Connection): Promise<void> => {
  if (!existsSync(CRDS) || globSync('*.yaml', { cwd: CRDS }).length === 0) return
  const run = kubectlOf(connection)
  await run(['apply', '--server-side', '-f', CRDS])
  await run(['wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS])
}
