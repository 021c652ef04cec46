import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeLock } from './lock.ts'

const newPath = async (): Promise<string> => join(await mkdtemp(join(tmpdir(), 'muster-lock-')), 'lock')

const unexpected = () => {
  throw new Error('the lock was lost')
}

test('a second one waits for the first, and is told so', async () => {
  const path = await newPath()
  const events: string[] = []
  const giveBack = await takeLock(path, { onLost: unexpected })
  const isWaiting = Promise.withResolvers<void>()
  const second = takeLock(path, { onLost: unexpected, onWaiting: isWaiting.resolve }).then(async (giveBack) => {
    events.push('taken')
    await giveBack()
  })
  await isWaiting.promise
  events.push('given back')
  await giveBack()
  await second
  expect(events).toEqual(['given back', 'taken'])
  expect(existsSync(path)).toBe(false)
})

test('a lock that another one has taken, as after a step of the clock, is told as lost and not given back', async () => {
  const path = await newPath()
  const lost = Promise.withResolvers<void>()
  const giveBack = await takeLock(path, { onLost: lost.resolve, abandonedAfterMs: 2_000 })
  await rm(path, { recursive: true })
  await lost.promise
  const giveBackSecond = await takeLock(path, { onLost: unexpected })
  await giveBack()
  expect(existsSync(path)).toBe(true)
  await giveBackSecond()
})
