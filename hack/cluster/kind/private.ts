import { dockerMissing } from '../../docker/missing.ts'
import { startPrivateDocker } from '../../docker/private.ts'
import { nodeImageMissing } from '../../kindnode/image.ts'
import { type KindCluster, type KindStart, startKind } from './provider.ts'

/** Why no kind cluster of its own engine can be started here, and what to do; undefined when one can. */
export const privateKindMissing = (): string | undefined => dockerMissing() ?? nodeImageMissing()

/**
 * A kind cluster for tests: in a Docker engine of its own, which has no way out of its network and leaves the machine as it is. The
 * API server's port is forwarded to our own loopback; nothing else of it can be reached from here but by that server.
 */
export const startPrivateKind = async ({
  say,
  signal,
  readable = [],
}: Omit<KindStart, 'reach'>): Promise<KindCluster> => {
  await using stack = new AsyncDisposableStack()
  const docker = stack.use(await startPrivateDocker())
  // Where testcontainers looks, once for a process.
  process.env.DOCKER_HOST = docker.host
  const reach = async (_: string, port: number) => ({ host: '127.0.0.1', port: await docker.forward(port) })
  const kind = await startKind({ say, signal, readable, reach })
  const own = stack.move()
  return { ...kind, stop: () => own.disposeAsync() }
}
