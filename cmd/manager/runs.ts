import type { AdapterRuns } from '#apis/hyperfleet.redhat.com/adapter-run.ts'
import { serveRuns } from '#controllers/adapter/runs/runs-server.ts'
import { type Binding, isLoopback } from '#operator/binding.ts'
import type { Transport } from '#operator/client/transport.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { SideServer } from '#operator/serve.ts'
import type { ManagerOptions } from './command.ts'
import { selfSigned } from './self-signed.ts'

const FLAG = '--adapter-runs-bind-address'

/** Serves the last runs of adapter tasks. @throws BindingError */
export const serveRunsTo = async (
  binding: Binding,
  sources: {
    readonly runs: AdapterRuns
    readonly transport: Transport
    readonly clock: Clock
    readonly options: ManagerOptions
  },
): Promise<SideServer> => {
  const { runs, transport, clock, options } = sources
  const certificate = isLoopback(binding) ? undefined : await selfSigned(clock)
  return serveRuns({ runs, transport, binding, flag: FLAG, namespace: options.namespace, certificate })
}
