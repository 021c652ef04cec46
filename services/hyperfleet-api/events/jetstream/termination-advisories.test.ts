import { expect, test, vi } from 'vitest'
import { silent } from '#operator/model/log.ts'
import type { Database } from '../../storage/database.ts'
import type { Broker } from './broker.ts'
import { followTerminations } from './termination-advisories.ts'

/** A NATS connection whose subscriptions end at once: refused, or because the connection did. */
const scriptedBroker = () => {
  const state = { refusal: 'permissions violation' as string | undefined, subscriptions: 0 }
  const subscribe = () => {
    state.subscriptions += 1
    if (state.refusal !== undefined) throw new Error(state.refusal)
    return []
  }
  const broker = {
    unavailableReason: undefined,
    onConnected: () => {},
    connected: () => ({ connection: { subscribe } }),
  }
  return { state, broker: broker as unknown as Broker }
}

test('API-71: that it is refused is logged once until it works, however often it is tried', async () => {
  const { state, broker } = scriptedBroker()
  const warn = vi.fn()
  const follow = followTerminations(broker, {
    database: {} as Database,
    now: () => new Date(0),
    log: { ...silent, warn },
  })
  const tries = async (count: number) => {
    const target = state.subscriptions + count
    while (state.subscriptions < target) {
      follow()
      await new Promise(setImmediate)
    }
  }
  await tries(3)
  expect(warn).toHaveBeenCalledTimes(1)
  state.refusal = undefined
  await tries(1)
  state.refusal = 'permissions violation'
  await tries(3)
  expect(warn).toHaveBeenCalledTimes(2)
})
