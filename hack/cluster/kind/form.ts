import { load } from 'js-yaml'
import { goSettings } from '../../process/go-settings.ts'
import type { KubeconfigFile } from '../kubeconfig.ts'
import type { StartedKindNode } from './node.ts'
import {
  ADMIN_CONFIG,
  API_SERVER_PORT,
  JOIN_COMMAND,
  joining,
  KUBEADM_CONFIG,
  kubeadmConfig,
  SETUP,
  VERSION_FILE,
  WAITS,
} from './plan.ts'
import { type Reach, reachedAt } from './reach.ts'

/**
 * Makes a cluster of booted nodes: of the first its control plane, where workloads may run as well, of the others its workers.
 * @returns a kubeconfig for clients on this machine
 * @throws ProcessError
 */
export const formCluster = async (
  [first, ...workers]: readonly [StartedKindNode, ...StartedKindNode[]],
  reach: Reach,
  say: (line: string) => void,
): Promise<KubeconfigFile> => {
  const { host, port } = await reach(first.getHost(), first.getMappedPort(API_SERVER_PORT))
  const version = (await first.run({ title: 'Reading its version', command: ['cat', VERSION_FILE] })).trim()
  const config = kubeadmConfig(host, version, goSettings()).map((part) => JSON.stringify(part))
  await first.copyContentToContainer([{ content: config.join('\n---\n'), target: KUBEADM_CONFIG }])
  for (const step of SETUP) {
    say(`  ${step.title} …`)
    await first.run(step)
  }
  for (const worker of workers) {
    say('  A worker joins it …')
    await worker.run(joining(await first.run(JOIN_COMMAND)))
  }
  for (const step of WAITS) {
    say(`  ${step.title} …`)
    await first.run(step)
  }
  const admin = load(await first.run({ title: 'Reading the kubeconfig', command: ['cat', ADMIN_CONFIG] }))
  return reachedAt(admin as KubeconfigFile, host, port)
}
