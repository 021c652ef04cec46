import { text } from 'node:stream/consumers'
import { getContainerRuntimeClient } from 'testcontainers'

const isGone = (error: unknown): boolean => (error as { readonly statusCode?: number }).statusCode === 404

/** The log of a container that has ended, by line; undefined when it runs or is gone. */
export const lastWords = async (id: string): Promise<readonly string[] | undefined> => {
  const client = (await getContainerRuntimeClient()).container
  const container = client.getById(id)
  try {
    if ((await client.inspect(container)).State.Running) return undefined
    return (await text(await client.logs(container))).trimEnd().split('\n')
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** Ends a container at once and removes it with its volumes; one that is gone already is fine. */
export const removeContainer = async (id: string): Promise<void> => {
  const { container } = await getContainerRuntimeClient()
  try {
    await container.dockerode.getContainer(id).remove({ force: true, v: true })
  } catch (error) {
    if (!isGone(error)) throw error
  }
}
