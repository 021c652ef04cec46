/** Tasks that are stopped in the middle of leaving an object that another task has too, and then go on with it. In memory. */
import { expect, test } from 'vitest'
import type { TaskName } from '#test/worlds/adapter/shared-tasks.ts'
import { SharedWorld } from '#test/worlds/adapter/shared-world.ts'

const runs = (...tasks: readonly TaskName[]) => tasks.map((task) => ({ task, cluster: 'c1' as const }))

/** Two tasks have applied the same; the first was to leave it, and its manager was killed. It is to have it again. */
const halfLeft = async (kill: { readonly at: number; readonly isDone: boolean }) => {
  const world = new SharedWorld({ isBare: false, delays: [0], readsAll: true })
  for (const one of [...runs('left'), ...runs('right')]) {
    await world.run([one])
    await world.rest()
  }
  world.select('left', 'c1', false)
  await world.run(runs('left'), { ...kill, task: 'left', does: 'kill' })
  world.select('left', 'c1', true)
  world.select('right', 'c1', false)
  return world
}

const KILLS = Array.from({ length: 40 }, (_, n) => ({ at: n >> 1, isDone: n % 2 === 1 }))

test('ADAPTER-124: a task that was killed while it left an object, and is held now: another task leaves the object to it', async () => {
  for (const kill of KILLS) {
    const world = await halfLeft(kill)
    if (!world.cluster.names().includes('of-c1') || !world.recorded().includes('left c1 of-c1')) continue
    world.select('left', 'c1', false)
    world.isHeld = true
    await world.run(runs('left'))
    world.isHeld = false
    await world.run(runs('right'))
    expect([kill, world.cluster.names()]).toEqual([kill, expect.arrayContaining(['of-c1'])])
  }
})

const isHalfLeft = ({ cluster }: SharedWorld) => JSON.stringify([...cluster.stored.values()]).includes('"Leaving"')

test('ADAPTER-124: a task that was killed while it left an object, and is selected again: another task leaves the object to it, also when its runs fail before they come to it', async () => {
  for (const kill of KILLS) {
    const world = await halfLeft(kill)
    await world.run(runs('left'), { task: 'left', does: 'refuse', at: 0, isDone: false })
    await world.run(runs('right'))
    expect([kill, world.taken]).toEqual([kill, []])
  }
})

test('ADAPTER-124: a task that was killed while it left an object, and applies it again while another task leaves it: what it has applied stays', async () => {
  const kills: typeof KILLS = []
  for (const kill of KILLS) if (isHalfLeft(await halfLeft(kill))) kills.push(kill)
  expect(kills).not.toEqual([])
  for (const kill of kills)
    for (let at = 0; at < 20; at++) {
      const world = await halfLeft(kill)
      await world.run(runs('left', 'right'), { task: 'right', does: 'wait', at, isDone: false })
      expect([kill, at, world.cluster.names()]).toEqual([kill, at, expect.arrayContaining(['all', 'of-c1'])])
    }
})
