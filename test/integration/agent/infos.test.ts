/** Counters and keys of what devices say, by files that are lost, put back and exchanged. AGENT-56, AGENT-57, FLEET-125. */
import { mkdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createUser } from '@nats-io/nkeys'
import { beforeEach, describe, expect, test } from 'vitest'
import { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { infoSigner } from '#services/agent/info-signer.ts'
import { manualClock } from '#test/harness/clock.ts'

let folder: string

beforeEach(async () => {
  folder = await temporaryFolder('infos')
})

describe('AGENT-57: the counter of an info', () => {
  const counterFile = () => join(folder, 'info-counter.json')
  const NOW = '2026-06-01T00:00:00Z'

  /** A new process of the agent. */
  const agent = async (clock: ReturnType<typeof manualClock>) => {
    const keyFile = join(folder, 'pump.nk')
    await writeFile(keyFile, createUser().getSeed())
    const signer = infoSigner(keyFile, folder, clock)
    return async (info: string) => Number((await signer.sign('pump', Buffer.from(info))).split(':')[0])
  }

  test('stays over a restart and a reconnection, and grows with another info', async () => {
    const clock = manualClock(NOW)
    const says = await agent(clock)
    const first = await says('a')
    await clock.advance('72h')
    expect(await says('a')).toBe(first)
    const second = await says('b')
    expect(second).toBeGreaterThan(first)
    expect(await (await agent(clock))('b')).toBe(second)
    expect(await (await agent(clock))('a')).toBeGreaterThan(second)
  })

  test('crash: a folder that was put back by days is told apart: the same info gets a higher one', async () => {
    const clock = manualClock(NOW)
    await (await agent(clock))('a')
    const backup = await readFile(counterFile())
    await clock.advance('1h')
    const last = await (await agent(clock))('b')
    await writeFile(counterFile(), backup)
    await clock.advance('72h')
    expect(await (await agent(clock))('a')).toBeGreaterThan(last)
  })

  test('crash: a folder is lost while the clock is at 1970; once it is right, so is the counter', async () => {
    const last = await (await agent(manualClock(NOW)))('a')
    await rm(counterFile())
    const late = manualClock('1970-01-01T00:00:20Z')
    expect(await (await agent(late))('a')).toBeLessThan(last)
    expect(await (await agent(manualClock('2026-06-02T00:00:00Z')))('a')).toBeGreaterThan(last)
  })

  test('crash: with a clock behind, and the folder, it grows all the same', async () => {
    const last = await (await agent(manualClock(NOW)))('a')
    expect(await (await agent(manualClock('1970-01-01T00:00:20Z')))('b')).toBe(last + 1)
  })

  test('two infos that are signed at once have two', async () => {
    const says = await agent(manualClock(NOW))
    const counters = await Promise.all(['a', 'b', 'c'].map(says))
    expect(new Set(counters).size).toBe(3)
  })

  test('crash: a key that is being replaced signs nothing, and nothing goes out unsigned', async () => {
    const says = await agent(manualClock(NOW))
    await writeFile(join(folder, 'pump.nk'), '')
    await expect(says('a')).rejects.toThrow('holds no key of a NATS user')
  })
})

describe('FLEET-125: the folder with the keys of devices', () => {
  const [old, next] = [createUser().getPublicKey(), createUser().getPublicKey()]
  const ignore = () => undefined

  test('crash: is read between the steps in which kubelet exchanges it: each key is known at once', async () => {
    // As kubelet does it: the folder, then ..data, and only then the links of files that are new.
    const exchange = async (name: string, files: Readonly<Record<string, string>>) => {
      await mkdir(join(folder, name))
      for (const [file, text] of Object.entries(files)) await writeFile(join(folder, name, file), text)
      await symlink(name, join(folder, '..data_tmp'))
      await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    await exchange('..1', { kiosk: old })
    await symlink('..data/kiosk', join(folder, 'kiosk'))
    const keys = await DeviceKeyFolder.open(folder)
    await exchange('..2', { kiosk: old, pump: next })
    expect(await keys.reread(ignore)).toEqual(['pump'])
    await symlink('..data/pump', join(folder, 'pump'))
    expect(await keys.reread(ignore)).toEqual([])
    expect([keys.keyOf('kiosk')?.nkey, keys.keyOf('pump')?.nkey]).toEqual([old, next])
  })

  test('crash: a key is exchanged by a file of the same time, as an archive brings it', async () => {
    const put = async (key: string) => {
      await writeFile(join(folder, 'pump.next'), key)
      await utimes(join(folder, 'pump.next'), 1, 1)
      await rename(join(folder, 'pump.next'), join(folder, 'pump.pub'))
    }
    await put(old)
    const keys = await DeviceKeyFolder.open(folder)
    await put(next)
    expect(await keys.reread(ignore)).toEqual(['pump'])
    expect(keys.keyOf('pump')?.nkey).toBe(next)
  })

  test('that can’t be read changes nothing, and is told once', async () => {
    await writeFile(join(folder, 'pump'), old)
    const keys = await DeviceKeyFolder.open(folder)
    await rename(folder, `${folder}-away`)
    const problems: string[] = []
    for (let look = 0; look < 3; look++) expect(await keys.reread((problem) => problems.push(problem))).toEqual([])
    expect(problems).toEqual([`the folder ${folder} does not exist`])
    expect(keys.keyOf('pump')?.nkey).toBe(old)
    await expect(DeviceKeyFolder.open(folder)).rejects.toThrow('does not exist')
  })
})
