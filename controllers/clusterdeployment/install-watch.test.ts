/** POOL-48: what counts of the time that an installation takes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { API_REACHABLE, type ClusterDeployment, QUOTA_EXCEEDED } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type InstallWatch, nextInstallWatch, WATCH_INTERVAL_MS } from './install-watch.ts'
import { buildSummaryStatus } from './status.ts'

const MINUTE = 60_000
const BEGIN = Date.parse('2026-03-01T08:00:00Z')

const spec = { baseDomain: 'example.com', clusterName: 'one', platform: {}, installed: false, powerState: 'Running' }

const aDeployment = (installWatch?: InstallWatch): ClusterDeployment => ({
  apiVersion: 'hive.openshift.io/v1',
  kind: 'ClusterDeployment',
  metadata: { name: 'one', namespace: 'one', uid: 'uid', resourceVersion: '1' },
  spec: spec as ClusterDeployment['spec'],
  status: { ...(installWatch !== undefined && { installWatch }) },
})

/** Passes at these moments, in milliseconds from the beginning. @returns what is written in the end */
const watchAt = (moments: readonly number[]): InstallWatch | undefined => {
  let watch: InstallWatch | undefined
  for (const moment of moments) watch = nextInstallWatch(aDeployment(watch), new Date(BEGIN + moment))
  return watch
}

test('an absence counts for ten minutes, however long it was', () => {
  const passes = [0, 5, 10, 10 + 24 * 60].map((minute) => minute * MINUTE)
  expect(watchAt(passes)).toEqual({ seconds: 20 * 60, until: '2026-03-02T08:10:00Z' })
})

test('an outage of the HyperFleet API is not watched; what it refuses is', () => {
  const watch = { seconds: 60, until: '2026-03-01T08:00:00Z' }
  const later = new Date(BEGIN + 5 * MINUTE)
  const statusWhen = (reason: string) =>
    buildSummaryStatus(aDeployment(watch), { type: 'Stalled', reason, message: '' }, later)
  expect(statusWhen('APIUnreachable').installWatch).toBeUndefined()
  expect(statusWhen('APIRefused').installWatch).toEqual({ seconds: 360, until: '2026-03-01T08:05:00Z' })
})

test('POOL-75: an outage that ends counts nothing: adapters could not report what they installed meanwhile', () => {
  const reachable = (status: 'True' | 'False') => ({
    type: API_REACHABLE,
    status,
    reason: 'x',
    message: '',
    lastTransitionTime: '2026-03-01T08:00:00Z',
  })
  // A minute of its half an hour is left when the outage begins.
  const watch = { seconds: 29 * 60, until: '2026-03-01T08:00:00Z' }
  const after = (status: 'True' | 'False', minutes: number, installed = false) => {
    const object = aDeployment(watch)
    const known = { ...object.status, conditions: [reachable(status)] }
    return nextInstallWatch({ spec: { ...object.spec, installed }, status: known }, new Date(BEGIN + minutes * MINUTE))
  }
  expect(after('False', 60)).toEqual({ seconds: 29 * 60, until: '2026-03-01T09:00:00Z' })
  expect(after('False', 60, true)).toBeUndefined()
  expect(after('True', 5)).toEqual({ seconds: 34 * 60, until: '2026-03-01T08:05:00Z' })
})

test('however the clock is set and however long it was away, no more counts than was watched, and ten minutes for each absence', () => {
  const steps = fc.array(fc.integer({ min: -48 * 60 * MINUTE, max: 48 * 60 * MINUTE }), { maxLength: 30 })
  fc.assert(
    fc.property(steps, (differences) => {
      const moments = [0]
      for (const difference of differences) moments.push((moments.at(-1) ?? 0) + difference)
      const most = differences.reduce(
        (sum, difference) => sum + Math.min(Math.max(difference, 0), 2 * WATCH_INTERVAL_MS),
        // What was not written yet counts with what comes after.
        WATCH_INTERVAL_MS,
      )
      expect((watchAt(moments)?.seconds ?? 0) * 1_000).toBeLessThanOrEqual(most)
    }),
  )
})

test('passes that come often enough count all of the time, to a second for each of them', () => {
  const steps = fc.array(fc.integer({ min: 1, max: WATCH_INTERVAL_MS }), { minLength: 1, maxLength: 100 })
  fc.assert(
    fc.property(steps, (differences) => {
      const moments = [0]
      for (const difference of differences) moments.push((moments.at(-1) ?? 0) + difference)
      const counted = (watchAt(moments)?.seconds ?? 0) * 1_000
      expect(counted).toBeGreaterThan((moments.at(-1) ?? 0) - WATCH_INTERVAL_MS - 1_000 * moments.length)
    }),
  )
})

test('CLUSTER-23: waits for a quota count for nothing, however they alternate with an installation', () => {
  const waited = fc.array(fc.record({ minutes: fc.integer({ min: 1, max: 40 }), isWaiting: fc.boolean() }))
  fc.assert(
    fc.property(waited, (parts) => {
      let deployment = aDeployment()
      let minute = 0
      let installing = 0
      const pass = (isWaiting: boolean) => {
        const watch = nextInstallWatch(deployment, new Date(BEGIN + minute * MINUTE), isWaiting)
        deployment = { ...aDeployment(watch), status: { ...aDeployment(watch).status, conditions: waiting(isWaiting) } }
      }
      pass(false)
      for (const { minutes, isWaiting } of parts) {
        pass(isWaiting)
        for (let at = 0; at < minutes; at += 1) {
          minute += 1
          if (!isWaiting) installing += 1
          pass(isWaiting)
        }
      }
      expect(deployment.status?.installWatch?.seconds).toBeLessThanOrEqual(installing * 60)
    }),
  )
})

const waiting = (is: boolean) => [
  {
    type: 'Ready',
    status: 'False' as const,
    reason: is ? QUOTA_EXCEEDED : 'Installing',
    message: '',
    lastTransitionTime: '2026-03-01T08:00:00Z',
  },
]
