import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onPath } from '../cluster/programs.ts'
import { CONTROL_PLANE } from '../controlplane/binaries.ts'
import { binariesFolder } from '../gobuild/set.ts'

/** The folder of a nats-server: ours when it is built, else the machine's, else undefined. */
export const findNats = (): string | undefined => {
  if (existsSync(join(binariesFolder(CONTROL_PLANE), 'nats-server'))) return binariesFolder(CONTROL_PLANE)
  const installed = onPath('nats-server')
  return installed === undefined ? undefined : dirname(installed)
}
