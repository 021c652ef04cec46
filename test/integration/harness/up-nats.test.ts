import { globSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startFleetNats } from '#hack/up/agents.ts'
import type { Place } from '#hack/up/place.ts'
import { createRun, type Run } from '#hack/up/run.ts'
import { plainScreen } from '#hack/up/screen.ts'
import { startEventsNats } from '#hack/up/servers.ts'

const pidOfStore = (folder: string): number | undefined =>
  globSync('/proc/[0-9]*/cmdline')
    .filter((file) => {
      try {
        return readFileSync(file, 'utf8').includes(`--store_dir=${folder}\0`)
      } catch {
        // It has just ended.
        return false
      }
    })
    .map((file) => Number(file.split('/')[2]))[0]

const reasonOfEnd = async ({ signal }: Run): Promise<string> => {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  return (signal.reason as Error).message
}

test.each([
  ['of the fleet', (run: Run, logs: string) => startFleetNats(run, logs, logs), 'NATS of the fleet', '/fleet-nats'],
  ['of events', (run: Run, logs: string) => startEventsNats({ run, logs } as Place), 'NATS of events', ''],
])('npm run up ends with a line that names the NATS %s when that ends by itself', async (_, start, name, folder) => {
  const logs = await temporaryFolder('up-nats')
  await mkdir(logs, { recursive: true })
  const run = createRun(plainScreen(() => undefined))
  await start(run, logs)
  const pid = pidOfStore(`${logs}${folder}`)
  if (pid === undefined) throw new Error('there is no nats-server')
  process.kill(pid, 'SIGKILL')
  expect(await reasonOfEnd(run)).toContain(
    `${name} ended (SIGKILL). Its log, ${logs}${folder}/nats-server.log, ends with:\n`,
  )
  await run.finish()
})
