import { onTestFinished } from 'vitest'
import type { RunningApi } from '#services/hyperfleet-api/start.ts'
import { type Json, openWatch } from './support.ts'

/** A client that keeps a copy of all clusters by a watch: it resumes where a stream ended, and begins anew when told to. */
export interface Follower {
  /** Resources by id, as the stream told them. */
  readonly copy: ReadonlyMap<string, Json>
  /** How often it had to begin anew. */
  readonly restarts: number
}

/** Follows until the test is over. */
export const follow = (api: RunningApi): Follower => {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const state = { copy: new Map<string, Json>(), restarts: -1 }
  let position: number | undefined

  const readStream = async (): Promise<void> => {
    const from = position === undefined ? '' : `&resourceVersion=${position}`
    const stream = await openWatch(api, `/clusters?watch=true${from}`)
    if (stream.status === 410) position = undefined
    if (stream.status !== 200) return
    let copy = state.copy
    if (position === undefined) {
      state.restarts += 1
      copy = new Map()
    }
    for (;;) {
      const { type, version, object } = await stream.next()
      if (type === 'end') {
        if (object.reason === 'ResourceVersionExpired') position = undefined
        return
      }
      if (type === 'deleted') copy.delete(object.id)
      else if (type !== 'bookmark') copy.set(object.id, object)
      if (version === undefined) continue
      position = version
      // The first bookmark says that the present state was told.
      state.copy = copy
    }
  }
  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      await readStream().catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  void run()
  return {
    get copy() {
      return state.copy
    },
    get restarts() {
      return state.restarts
    },
  }
}
