import { untilAborted } from '#lib/abort/until-aborted.ts'
import type { WorkloadRunner } from '../workload-runner.ts'

const MESSAGE = 'this device is a cluster, not a machine: give it KubernetesManifests'

/** For an agent that serves a remote cluster: reports that programs can not run there. */
export const noMachine: WorkloadRunner = {
  async run(_place, _score, report, signal) {
    report('Failed', MESSAGE)
    await untilAborted(signal)
  },
  async remove() {},
  async stop() {},
}
