import type { Runner } from '../workload-runner.ts'

const WHY = 'this device is a cluster, not a machine: give it KubernetesManifests'

/** For an agent that works for a cluster from elsewhere: programs have no place there, and says so. */
export const noMachine: Runner = {
  async tend(_place, _score, report, signal) {
    report('Failed', WHY)
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  },
  async remove() {},
  async halt() {},
}
