import { getContainerRuntimeClient } from 'testcontainers'

/** Ends a container at once and removes it with its volumes; one that is gone already is fine. */
export const removeContainer = async (id: string): Promise<void> => {
  const { container } = await getContainerRuntimeClient()
  try {
    await container.dockerode.getContainer(id).remove({ force: true, v: true })
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode !== 404) throw error
  }
}
