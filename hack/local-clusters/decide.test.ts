import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextStep, type Observed, readinessOf, retryDelay, stateOf } from './decide.ts'

const observed = fc.record<Observed>({
  power: fc.constantFrom('Running', 'Hibernating'),
  deleting: fc.boolean(),
  apiServer: fc.constantFrom('absent', 'starting', 'ready'),
  controllerManager: fc.constantFrom('absent', 'running'),
  failures: fc.nat(5),
  retryAt: fc.nat(10),
})

/** What a step makes of it, when all goes well. */
const afterStep = (now: Observed, step: ReturnType<typeof nextStep>): Observed => {
  switch (step.do) {
    case 'Start':
    case 'Stop': {
      const isStart = step.do === 'Start'
      return step.part === 'kube-apiserver'
        ? { ...now, apiServer: isStart ? 'starting' : 'absent' }
        : { ...now, controllerManager: isStart ? 'running' : 'absent' }
    }
    case 'Wait':
      return now.apiServer === 'starting' ? { ...now, apiServer: 'ready' } : { ...now, retryAt: 0 }
    default:
      return now
  }
}

test('from whatever was left, a few steps lead to the requested state, and then nothing is done', () => {
  fc.assert(
    fc.property(observed, (first) => {
      let now = first
      for (let steps = 0; steps < 5; steps++) now = afterStep(now, nextStep(now, 5))
      expect(nextStep(now, 5)).toEqual({ do: now.deleting ? 'RemoveData' : 'Nothing' })
      expect(stateOf(now)).toBe(now.deleting ? 'Deleting' : now.power)
    }),
  )
})

test('data is removed only when nothing runs that would write it again', () => {
  fc.assert(
    fc.property(observed, (one) => {
      if (nextStep(one, 5).do !== 'RemoveData') return
      expect(one).toMatchObject({ deleting: true, apiServer: 'absent', controllerManager: 'absent' })
    }),
  )
})

test('a cluster is ready when it is as it was asked for, and failed when its API server does not come up', () => {
  const running: Observed = {
    power: 'Running',
    deleting: false,
    apiServer: 'ready',
    controllerManager: 'running',
    failures: 0,
    retryAt: 0,
  }
  const failing: Observed = { ...running, apiServer: 'absent', controllerManager: 'absent', failures: 3 }
  expect(readinessOf(running, '')).toMatchObject({ status: 'True', reason: 'Running' })
  expect(readinessOf({ ...running, power: 'Hibernating' }, '')).toMatchObject({ status: 'Unknown', reason: 'Stopping' })
  expect(readinessOf({ ...failing, power: 'Hibernating' }, '')).toMatchObject({ status: 'True', reason: 'Hibernating' })
  expect(readinessOf({ ...failing, failures: 2 }, '')).toMatchObject({ status: 'Unknown', reason: 'Starting' })
  expect(readinessOf(failing, 'unknown flag')).toEqual({
    status: 'False',
    reason: 'StartFailed',
    message: 'its API server ended 3 times before it was ready: unknown flag',
  })
})

test('an API server that ends again and again is started less often', () => {
  expect([1, 2, 3, 4, 5, 6, 7].map(retryDelay)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})
