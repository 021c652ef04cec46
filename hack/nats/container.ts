import { LocalContainer } from '../docker/local-container.ts'

const PORT = 4222
const CONFIG = '/etc/nats/muster.conf'

/**
 * The broker in a container, for machines that have Docker and no nats-server. testcontainers removes it when we end.
 * @param config path of a configuration file with what is not said here, such as users
 */
export const startNatsContainer = async (config?: string): Promise<{ readonly url: string; stop(): Promise<void> }> => {
  const container = await new LocalContainer('nats:2.12-alpine')
    .withCommand(['--jetstream', ...(config === undefined ? [] : [`--config=${CONFIG}`])])
    .withCopyFilesToContainer(config === undefined ? [] : [{ source: config, target: CONFIG }])
    .withExposedPorts(PORT)
    .start()
  return {
    url: `nats://${container.getHost()}:${container.getMappedPort(PORT)}`,
    stop: async () => {
      await container.stop()
    },
  }
}
