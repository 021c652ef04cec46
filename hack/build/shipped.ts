import { dirname, join } from 'node:path'
import { type BuildInfo, checkoutInfo } from '#cmd/build-info.ts'

/** The environment variable that names the program where a run has bundled it once for all: test/harness/bundled.ts. */
export const SHIPPED_PROGRAM = 'MUSTER_TEST_PROGRAM'

const root = join(import.meta.dirname, '../..')

/** The program with its papers. */
interface Shipped {
  readonly folder: string
  /** Of what it was built. */
  readonly info: BuildInfo
}

/**
 * What this run has shipped already, or ships now.
 * @param newFolder gives the path of a folder for it, which is asked for only when it is needed
 */
export const shippedOnce = async (newFolder: () => Promise<string>): Promise<Shipped> => {
  const program = process.env[SHIPPED_PROGRAM]
  if (program !== undefined) return { folder: dirname(program), info: checkoutInfo(root) }
  const folder = await newFolder()
  // Not before: all tests import this module, and few of them bundle.
  const { ship } = await import('./ship.ts')
  return { folder, info: (await ship(folder)).info }
}
