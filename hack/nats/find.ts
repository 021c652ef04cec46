import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onPath } from '../cluster/programs.ts'
import { binariesFolder } from '../controlplane/cache.ts'

/** The folder of a nats-server: ours when it is built, else the machine's, else undefined. */
export const findNats = (): string | undefined => {
  if (existsSync(join(binariesFolder(), 'nats-server'))) return binariesFolder()
  const installed = onPath('nats-server')
  return installed === undefined ? undefined : dirname(installed)
}
