/** Why no container can be started here, and the remedy; undefined when Docker, or whatever else testcontainers finds, answers. */
export const noContainers = async (): Promise<string | undefined> => {
  try {
    // Loaded only when it is needed: the package and what it brings take a while.
    const { getContainerRuntimeClient } = await import('testcontainers')
    await getContainerRuntimeClient()
    return undefined
  } catch (error) {
    return `No container runtime answers (${(error as Error).message}): start Docker`
  }
}
