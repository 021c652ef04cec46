import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ARGOCD } from './binaries.ts'

const run = promisify(execFile)

/**
 * The folder with the manifests of the Argo CD that we build: they come with its Go module, which is fetched when only the binaries
 * are in the cache.
 */
export const argoManifests = async (): Promise<string> => {
  const go = ['mod', 'download', '-json', 'github.com/argoproj/argo-cd/v3']
  const { stdout } = await run('go', go, { cwd: ARGOCD.module })
  const { Dir } = JSON.parse(stdout) as { Dir: string }
  return join(Dir, 'manifests')
}

/** The folder of its CRDs, for `kubectl apply --server-side -k`. */
export const argoCrds = async (): Promise<string> => join(await argoManifests(), 'crds')
