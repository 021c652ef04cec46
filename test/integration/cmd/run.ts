import { startMuster } from '#test/harness/index.ts'

/** How a command that ends by itself ended. */
export interface Ending {
  readonly code: number | null
  /** Everything it wrote that isn't log. */
  readonly output: string
}

/** Runs a command to its end. */
export const muster = async (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ending> => {
  await using process = await startMuster(args, env)
  const { code } = await process.exited
  return { code, output: process.output() }
}
