/**
 * Whatever happens to clusters, labels, tasks and servers, and wherever managers are killed: in the end nothing that a task has applied is
 * there without its record, nothing is missing, and no deletion waits that has nothing left to wait for. On the real API server and API,
 * with real managers; controllers/adapter/run/nothing-left.property.test.ts kills between any two requests in memory.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { repetitions } from '#test/harness/deep.ts'
import type { RequestProxy } from '#test/harness/index.ts'
import { type ApiFront, apiFront } from './api-front.ts'
import { Histories } from './history.ts'
import { history } from './history-steps.ts'
import { type AdapterWorld, adapterWorld } from './world.ts'

let world: AdapterWorld
let proxy: RequestProxy
let front: ApiFront
let histories: Histories

/** Resources of which no event tells are looked at twice a minute. */
const SETTLED = { timeout: 120_000, interval: 500 }

beforeAll(async () => {
  world = await adapterWorld()
  proxy = await world.plane.proxy()
  front = await apiFront(world.url)
  histories = new Histories({ world, proxy, front })
})

afterAll(async () => {
  await histories?.stop()
  await world?.[Symbol.asyncDispose]()
  await front?.stop()
  await proxy?.stop()
})

test(
  'ADAPTER-50, ADAPTER-62, ADAPTER-66, ADAPTER-69: nothing is there without its record, and nothing waits for nothing',
  async () => {
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        await histories.begin()
        for (const one of steps) await histories.act(one)
        await histories.end()
        await vi.waitFor(async () => expect(await histories.problems()).toEqual([]), SETTLED)
      }),
      { numRuns: repetitions({ deep: 40, slice: 2 }), endOnFailure: true },
    )
  },
  repetitions({ deep: 7_200_000, slice: 600_000 }),
)
