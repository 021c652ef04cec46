import { untilAborted } from '#lib/abort/until-aborted.ts'
import type { ReportPhase, WorkloadRunner } from '../workload-runner.ts'
import { readApplied } from './applied-objects.ts'

const MESSAGE = 'this agent has no Kubernetes cluster: start it with --kubeconfig FILE'

/** For an agent without a cluster: says so. What an earlier start applied is not forgotten. */
export const noCluster: WorkloadRunner = {
  run: (_place, _score, report, signal) => wait(report, signal),
  async remove(placement, report, signal) {
    const { objects } = await readApplied(placement)
    if (objects.length > 0) await wait(report, signal)
  },
  async stop() {},
}

const wait = async (report: ReportPhase, signal: AbortSignal): Promise<void> => {
  report('Failed', MESSAGE)
  await untilAborted(signal)
}
