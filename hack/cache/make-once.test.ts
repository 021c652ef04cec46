import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeOnce } from './make-once.ts'

const scratch = (): Promise<string> => mkdtemp(join(tmpdir(), 'muster-make-once-'))

const silent = () => undefined

const write = (text: string) => (draft: string) => writeFile(join(draft, 'what'), text)

test('it is made once', async () => {
  const folder = join(await scratch(), 'v1')
  const makers: string[] = []
  const maker = (text: string) => {
    const make = async (draft: string) => {
      makers.push(text)
      await write(text)(draft)
    }
    return makeOnce({ folder, title: 'a thing', make }, silent)
  }
  // Which of the two comes first is not said.
  await Promise.all([maker('one'), maker('another')])
  await maker('third')
  expect(makers).toHaveLength(1)
  expect([readFileSync(join(folder, 'what'), 'utf8')]).toEqual(makers)
})

test('one that fails leaves nothing', async () => {
  const parent = await scratch()
  const make = async (draft: string) => {
    await write('half')(draft)
    throw new Error('no more room')
  }
  await expect(makeOnce({ folder: join(parent, 'v1'), title: 'a thing', make }, silent)).rejects.toThrow('no more room')
  expect(readdirSync(parent)).toEqual([])
})

test('a maker whose lock is taken from it, as after a step of the clock, goes on, and the one that ends first is kept', async () => {
  const parent = await scratch()
  const folder = join(parent, 'v1')
  const maker = (text: string, work: Promise<unknown>) =>
    makeOnce(
      {
        folder,
        title: 'a thing',
        make: async (draft) => {
          await write(text)(draft)
          await work
          // What the second does before it makes its own must not have touched it.
          expect(readFileSync(join(draft, 'what'), 'utf8')).toBe(text)
        },
      },
      silent,
    )
  const endFirst = Promise.withResolvers<void>()
  const first = maker('first', endFirst.promise)
  await expect.poll(() => readdirSync(parent).filter((name) => name.startsWith('building-'))).toHaveLength(1)
  // To the second it looks as old as after such a step, and it takes it away.
  await rm(join(parent, 'build.lock'), { recursive: true })
  await maker('second', Promise.resolve())
  endFirst.resolve()
  await first
  expect(readFileSync(join(folder, 'what'), 'utf8')).toBe('second')
  expect(readdirSync(parent).filter((name) => name.startsWith('building-'))).toEqual([])
})

test('drafts of dead makers go, that of a living one stays', async () => {
  const parent = await scratch()
  const dead = spawn('true')
  await once(dead, 'exit')
  for (const name of [`building-${dead.pid}`, `building-${dead.pid}-0123abcd-1`, `building-${process.pid}-0123abcd-1`])
    await mkdir(join(parent, name))
  await makeOnce({ folder: join(parent, 'v1'), title: 'a thing', make: write('all') }, silent)
  expect(readdirSync(parent)).toEqual(['v1'])
})

test('so many are kept, those that were used last, and no draft is taken for one', async () => {
  const parent = await scratch()
  const make = (name: string) =>
    makeOnce({ folder: join(parent, name), title: 'a thing', kept: 2, make: write(name) }, silent)
  for (const [name, usedAt] of [
    ['v1', 1000],
    ['v2', 2000],
  ] as const) {
    await make(name)
    await utimes(join(parent, name), usedAt, usedAt)
  }
  await make('v1')
  await make('v3')
  expect(readdirSync(parent).toSorted()).toEqual(['v1', 'v3'])
})
