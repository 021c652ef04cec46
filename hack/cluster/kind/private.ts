import { dockerMissing } from '../../docker/missing.ts'
import { type PrivateDocker, startPrivateDocker } from '../../docker/private.ts'
import { nodeImageMissing } from '../../kindnode/image.ts'
import { type KindCluster, type KindStart, startKind } from './provider.ts'

/** Why no kind cluster of its own engine can be started here, and what to do; undefined when one can. */
export const privateKindMissing = (): string | undefined => dockerMissing() ?? nodeImageMissing()

export interface PrivateKind extends KindCluster {
  /** The engine that it runs in, and goes with. */
  readonly docker: PrivateDocker
}

/**
 * A kind cluster for tests: in a Docker engine of its own, which has no way out of its network and leaves the machine as it is. The
 * API server's port is forwarded to our own loopback; nothing else of it can be reached from here but by that server.
 */
export const startPrivateKind = async ({
  say,
  signal,
  readable = [],
  workers = 0,
}: Omit<KindStart, 'reach'>): Promise<PrivateKind> => {
  await using stack = new AsyncDisposableStack()
  const docker = stack.use(await startPrivateDocker())
  // Where testcontainers looks, once for a process.
  process.env.DOCKER_HOST = docker.host
  const reach = async (_: string, port: number) => ({ host: '127.0.0.1', port: await docker.forward(port) })
  const kind = await startKind({ say, signal, readable, workers, reach })
  const own = stack.move()
  return { ...kind, docker, stop: () => own.disposeAsync() }
}
