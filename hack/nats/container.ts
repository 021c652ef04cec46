import { GenericContainer } from 'testcontainers'

const PORT = 4222

/** The broker in a container, for machines that have Docker and no nats-server. testcontainers removes it when we end. */
export const startNatsContainer = async (): Promise<{ readonly url: string; stop(): Promise<void> }> => {
  const container = await new GenericContainer('nats:2.12-alpine')
    .withCommand(['--jetstream'])
    .withExposedPorts(PORT)
    .start()
  return {
    url: `nats://${container.getHost()}:${container.getMappedPort(PORT)}`,
    stop: async () => {
      await container.stop()
    },
  }
}
