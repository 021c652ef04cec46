import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SetupError } from '../process/errors.ts'
import { type Identity, identify, isRunning } from '../process/identity.ts'

/**
 * Only one `npm run up` at a time for each user: they would write the same logs. A turn whose process is gone has ended.
 * @param file where the turn is noted
 * @returns ends the turn
 * @throws SetupError that names the process
 */
export const takeTurn = async (file: string): Promise<() => Promise<void>> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const holder = await readTurn(file)
  if (holder !== undefined) {
    if (await isRunning(holder)) {
      const remedy = `end it with Ctrl-C in its terminal, or with "kill -INT ${holder.pid}"`
      throw new SetupError(`"npm run up" runs already as process ${holder.pid}: ${remedy}`)
    }
    await rm(file, { force: true })
  }
  const handle = await open(file, 'wx', 0o600)
  await handle.writeFile(JSON.stringify(await identify(process.pid)))
  await handle.close()
  return () => rm(file, { force: true })
}

const readTurn = async (file: string): Promise<Identity | undefined> => {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Identity
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    // A turn that was cut short while it was noted is no turn.
    if (error instanceof SyntaxError) return { pid: 0, started: '' }
    throw error
  }
}
