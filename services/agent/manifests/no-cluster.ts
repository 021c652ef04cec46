import type { Report, Runner } from '../workload-runner.ts'
import { readApplied } from './runner.ts'

const NEEDS = 'this agent has no Kubernetes cluster: start it with --kubeconfig FILE'

/** For an agent without a cluster: says so. What an earlier start applied is not forgotten. */
export const noCluster: Runner = {
  tend: (_place, _score, report, signal) => wait(report, signal),
  async remove(place, report, signal) {
    const { objects } = await readApplied(place)
    if (objects.length > 0) await wait(report, signal)
  },
  async halt() {},
}

const wait = async (report: Report, signal: AbortSignal): Promise<void> => {
  report('Failed', NEEDS)
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
