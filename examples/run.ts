/** Runs an example until Ctrl-C: against the cluster of your kubeconfig, in the namespace NAMESPACE or in all. */
import { type AnyController, loadTransport, operator } from 'muster/operator'

export const run = async (controller: AnyController): Promise<void> => {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const namespace = process.env.NAMESPACE
  const transport = await loadTransport()
  const running = operator({
    controllers: [controller],
    transport,
    ...(namespace !== undefined && { namespaces: [namespace] }),
  })
  running.ready.then(() => console.log('ready'), console.error)
  await running.start(stop.signal)
  await transport.close()
}
