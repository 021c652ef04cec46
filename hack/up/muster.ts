import { type ServedCommand, saysReady, servedProgram } from '../muster/program.ts'
import { type Child, startChild, untilReady } from '../process/child.ts'

/** A `muster` process that runs beside us, with our own environment and what is said here. */
export type Beside = Omit<ServedCommand, 'env'> & { readonly env?: Readonly<Record<string, string>> }

/** Starts it and waits until `/readyz` says yes. @throws ProcessError with the last lines of its log */
export const startMuster = async ({ env, ...command }: Beside): Promise<Child & { readonly metricsUrl: string }> => {
  const { probe, metricsUrl, ...program } = await servedProgram({ ...command, env: { ...process.env, ...env } })
  const child = await startChild(program)
  try {
    await untilReady(child, () => saysReady(probe))
  } catch (error) {
    await child.kill()
    throw error
  }
  return { ...child, metricsUrl }
}
