import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { checkoutInfo } from '#cmd/build-info.ts'
import { saveCommand } from '../cluster/kind/images.ts'
import { buildImage, imageOf } from './build.ts'
import { findEngine } from './engine.ts'

const run = promisify(execFile)

/**
 * Builds the image of this checkout under the name that the manifests have for it, and saves it.
 * @returns the path of the archive in the folder
 * @throws EngineError
 */
export const deliver = async (folder: string): Promise<string> => {
  const engine = await findEngine()
  const tag = imageOf(checkoutInfo(join(import.meta.dirname, '../..')))
  await buildImage({ engine, tag, bases: {} })
  const archive = join(folder, 'muster.tar')
  const [command = '', ...args] = saveCommand(engine.name, tag, archive)
  await run(command, args)
  return archive
}
