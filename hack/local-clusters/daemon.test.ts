import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { findDaemon, startDaemon, stopDaemon } from './daemon.ts'

test('a program is found from its start to its end, also in the moment in which the shell becomes it', async () => {
  const folder = await temporaryFolder('daemon')
  for (let n = 0; n < 30; n++) {
    const daemon = { name: `program-${n}`, folder }
    let isStarted = false
    const args = ['-f', '/dev/null', `${folder}/none`]
    const starting = startDaemon({ ...daemon, command: 'tail', args, guarded: true }).then(() => {
      isStarted = true
    })
    let seen: number | undefined
    while (!isStarted) {
      const found = await findDaemon(daemon)
      if (seen !== undefined) expect(found).toBe(seen)
      seen = found
    }
    await starting
    for (let look = 0; look < 20; look++) expect(await findDaemon(daemon)).toBeDefined()
    await stopDaemon(daemon)
    expect(await findDaemon(daemon)).toBeUndefined()
  }
})

test('a program has the environment that it is given', async () => {
  const folder = await temporaryFolder('daemon')
  const args = ['-c', 'echo "$GOGC" > "$0/said"; sleep 60', folder]
  await startDaemon({ name: 'program', folder, command: '/bin/sh', args, env: { GOGC: '40' }, guarded: true })
  await expect.poll(() => readFile(join(folder, 'said'), 'utf8').catch(() => '')).toBe('40\n')
  await stopDaemon({ name: 'program', folder })
})
