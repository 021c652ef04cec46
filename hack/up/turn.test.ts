import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { identify } from '../process/identity.ts'
import { takeTurn } from './turn.ts'

const turnFile = async () => join(await temporaryFolder('turn'), 'up', 'turn.json')

test('a second run is told which process has the turn, until it ends', async () => {
  const file = await turnFile()
  const end = await takeTurn(file)
  await expect(takeTurn(file)).rejects.toThrow(`runs already as process ${process.pid}: end it with Ctrl-C`)
  await end()
  await (await takeTurn(file))()
})

test('the turn of a run that was killed has ended', async () => {
  const file = await turnFile()
  const killed = spawn('sleep', ['60'])
  await once(killed, 'spawn')
  const end = await takeTurn(file)
  await writeFile(file, JSON.stringify(await identify(killed.pid as number)))
  await expect(takeTurn(file)).rejects.toThrow(`process ${killed.pid}`)
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  await (await takeTurn(file))()
  await end()
})

test('a turn that was cut short while it was noted is no turn', async () => {
  const file = await turnFile()
  const end = await takeTurn(file)
  await writeFile(file, '{"pid":')
  await (await takeTurn(file))()
  await end()
})
