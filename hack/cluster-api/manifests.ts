import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CLUSTER_API, type ClusterApiManager } from './binaries.ts'

const run = promisify(execFile)

/** The modules that the managers come with, and where each has its kustomizations. */
const SOURCES = {
  core: ['sigs.k8s.io/cluster-api', 'core'],
  bootstrap: ['sigs.k8s.io/cluster-api', 'bootstrap/kubeadm'],
  'control-plane': ['sigs.k8s.io/cluster-api', 'controlplane/kubeadm'],
  dev: ['sigs.k8s.io/cluster-api/test', 'infrastructure/docker'],
} as const satisfies Readonly<Record<ClusterApiManager, readonly [string, string]>>

/** The folder of what installs a manager, for `kubectl kustomize`; its module is fetched when only the binaries are in the cache. */
export const clusterApiManifests = async (manager: ClusterApiManager): Promise<string> => {
  const [module, folder] = SOURCES[manager]
  const options = { cwd: CLUSTER_API.module, env: { ...process.env, GOFLAGS: '-mod=readonly' } }
  await run('go', ['mod', 'download', module], options)
  const { stdout } = await run('go', ['list', '-m', '-f', '{{.Dir}}', module], options)
  return join(stdout.trim(), folder, 'config/default')
}
