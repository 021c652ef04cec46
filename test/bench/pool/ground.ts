/** What pools are measured on: their kinds in an API server, and managers of pools and claims as processes. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load as parseYaml } from 'js-yaml'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { freePort } from '#hack/process/ports.ts'
import { type MusterProcess, startMuster } from '../program.ts'
import type { Stage } from '../stage.ts'

const CRDS = join(import.meta.dirname, '../../../manifests/crds')
const KINDS = [ClusterPool, ClusterClaim, ClusterDeployment, ClusterDeploymentCustomization]

export const installKinds = async (stage: Stage): Promise<void> => {
  for (const kind of KINDS) {
    const text = await readFile(join(CRDS, `${kind.group}_${kind.plural}.yaml`), 'utf8')
    await stage.install(parseYaml(text) as object, kind)
  }
}

/** A manager of pools and claims, for all namespaces. */
export const startPools = async (stage: Stage): Promise<MusterProcess> => {
  const probe = await freePort()
  return startMuster({
    args: [
      'manager',
      '--controllers=clusterpool,clusterclaim',
      '--metrics-bind-address=0',
      `--health-probe-bind-address=127.0.0.1:${probe}`,
      '--log-level=warn',
    ],
    url: '',
    probe: `http://127.0.0.1:${probe}/readyz`,
    folder: stage.folder,
    deployedAs: 'clusterpool',
    env: { KUBECONFIG: stage.kubeconfig },
  })
}
