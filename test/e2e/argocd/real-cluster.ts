/** A real cluster by commits alone, of the provider `hosted`; and its API as a person outside the management cluster reaches it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { dump, load } from 'js-yaml'
import { vi } from 'vitest'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { GitRepository } from '#test/harness/git.ts'
import { startProcessGroup } from '#test/harness/process-group.ts'
import { muster } from '#test/integration/cmd/run.ts'
import { inDeclared, NAMESPACE, OVERLAY, PATIENCE } from './world.ts'

const run = promisify(execFile)

export const [REAL_POOL, REAL_CLAIM] = ['pool-hosted', 'claim-real']

type Files = Readonly<Record<string, string>>

/** What is committed to have a provider in an environment: its folders, and its adapter among those that each cluster requires. */
export const withProvider = async (
  git: GitRepository,
  { folders, adapters }: { readonly folders: readonly string[]; readonly adapters: string },
): Promise<Files> => {
  const [overlay, kinds] = ['kustomization.yaml', 'kinds.yaml'].map((file) => join(OVERLAY, file)) as [string, string]
  const { resources, ...rest } = load(await git.read(overlay)) as { readonly resources: readonly string[] }
  return {
    [overlay]: dump({ ...rest, resources: [...resources, ...folders.map((folder) => `../../providers/${folder}`)] }),
    [kinds]: (await git.read(kinds)).replace(/required_adapters: .*/, `required_adapters: [${adapters}]`),
  }
}

/**
 * A pool that makes a cluster when one is claimed, and keeps none in stock: one control plane is enough. The shard of the flow serves it, and
 * the fleet puts into its clusters what it puts into those of the pool `lab`.
 */
export const declaresRealCluster = async (git: GitRepository): Promise<Files> => {
  const ofPool = [
    { op: 'replace', path: '/spec/size', value: 0 },
    { op: 'replace', path: '/spec/runningCount', value: 0 },
    { op: 'add', path: '/spec/labels/region', value: 'us-west' },
    { op: 'add', path: '/spec/labels/fleet.nationtech.io~1device', value: 'true' },
  ]
  const claim = {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterClaim',
    metadata: { name: 'real', namespace: NAMESPACE },
    spec: { clusterPoolName: 'hosted' },
  }
  const patches = [{ target: { kind: 'ClusterPool' }, patch: dump(ofPool) }]
  const team = (await git.read('kustomize/providers/local/pool/team.yaml')).replace('pool: lab', 'pool: hosted')
  return {
    [inDeclared(REAL_POOL, 'kustomization.yaml')]: dump({
      namespace: NAMESPACE,
      resources: ['../../../providers/hosted/pool', 'team.yaml'],
      patches,
    }),
    [inDeclared(REAL_POOL, 'team.yaml')]: team,
    [inDeclared(REAL_CLAIM, 'kustomization.yaml')]: dump({ resources: ['claim.yaml'] }),
    [inDeclared(REAL_CLAIM, 'claim.yaml')]: dump(claim),
  }
}

/** What kubectl prints with the kubeconfig of the claim. @param kubeconfig of the management cluster */
export const inReal = async (kubeconfig: string, cluster: string, ...args: readonly string[]): Promise<string> => {
  const claimed = join(await temporaryFolder('claimed'), 'kubeconfig')
  const access = [`--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`]
  const { code, output } = await muster(['claim', 'kubeconfig', 'real', ...access, `--write=${claimed}`])
  if (code !== 0) throw new Error(output)
  const kubectl = join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl')
  const service = [`service/${cluster}-api`, `--namespace=${cluster}`]
  const forward = await startProcessGroup(
    kubectl,
    ['port-forward', ...service, ':6443', `--kubeconfig=${kubeconfig}`],
    {},
  )
  try {
    const port = await vi.waitFor(() => {
      const [, found] = /127\.0\.0\.1:(\d+)/.exec(forward.output()) ?? []
      if (found === undefined) throw new Error(`no port is forwarded: ${forward.output()}`)
      return found
    }, PATIENCE)
    const there = [`--server=https://127.0.0.1:${port}`, `--tls-server-name=${cluster}-api.${cluster}.svc`]
    const { stdout } = await run(kubectl, [`--kubeconfig=${claimed}`, ...there, ...args])
    return stdout.trim()
  } finally {
    forward.interrupt('SIGTERM')
    await forward.exited
  }
}
