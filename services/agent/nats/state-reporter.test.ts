import { expect, test } from 'vitest'
import { infoCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { silent } from '#operator/model/log.ts'
import { manualClock } from '#test/harness/clock.ts'
import { type ReportBuckets, StateReporter } from './state-reporter.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const delivering = (reports: StateReporter, buckets: object) => {
  const stopping = new AbortController()
  const clock = manualClock()
  const ended = reports.deliver(buckets as ReportBuckets, clock, silent, stopping.signal)
  return {
    clock,
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await ended
    },
  }
}

// AGENT-25
test('crash: an info that can’t be signed, as on a full disk, holds up no report of a Deployment', async () => {
  const reports = new StateReporter('pump', { labels: {}, inventory: {}, agentVersion: '2' })
  const states: string[] = []
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  await using _delivering = delivering(reports, {
    info: { put: () => Promise.reject(full) },
    state: { put: async (key: string) => states.push(key) },
  })
  reports.report('pump.shop.web', { phase: 'Running', uid: 'u', revision: 1, at: '2026-01-01T00:00:00Z' }, 1)
  await expect.poll(() => states).toEqual(['pump.shop.web'])
})

// AGENT-25
test('lost update: what changes, or is asked for again, while the info is on its way is said after it', async () => {
  for (const happen of [
    (reports: StateReporter) => reports.changeInfo({ publicKeys: ['a', 'b'] }),
    (reports: StateReporter) => reports.resendAll(),
  ]) {
    const reports = new StateReporter('pump', { labels: {}, inventory: {}, agentVersion: '1', publicKeys: ['a'] })
    const sent: (readonly string[] | undefined)[] = []
    const { promise: onItsWay, resolve: arrives } = Promise.withResolvers<void>()
    await using _delivering = delivering(reports, {
      info: {
        put: async (_: string, bytes: Uint8Array) => {
          sent.push(infoCodec.decode(bytes).payload.publicKeys)
          if (sent.length === 1) await onItsWay
          return sent.length
        },
      },
    })
    await expect.poll(() => sent.length).toBe(1)
    happen(reports)
    arrives()
    await turn()
    await expect.poll(() => sent.length).toBe(2)
  }
})
