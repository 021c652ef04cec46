import { loadTransport } from '#operator/client/transport.ts'
import { type Operator, type OperatorOptions, operator } from '#operator/operator.ts'

export interface RunningOperator extends Pick<Operator, 'ready' | 'stop'> {}

/** An operator in this process, over connections of its own. */
export const runOperator = async (
  kubeconfig: string,
  options: Omit<OperatorOptions, 'transport'>,
): Promise<RunningOperator> => {
  const transport = await loadTransport({ kubeconfig })
  const running = operator({ ...options, transport })
  const ended = running.start()
  const stop = async () => {
    await running.stop()
    await ended
    await transport.close()
  }
  let stopped: Promise<void> | undefined
  return { ready: running.ready, stop: () => (stopped ??= stop()) }
}
