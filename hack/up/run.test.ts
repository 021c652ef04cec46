import { expect, test } from 'vitest'
import { ProcessError } from '../process/errors.ts'
import { createRun, Interrupted } from './run.ts'
import { plainScreen } from './screen.ts'

const started = () => {
  const lines: string[] = []
  return { lines, run: createRun(plainScreen((line) => lines.push(line))) }
}

test('steps are undone in the reverse order, and one that fails stops no other', async () => {
  const { run, lines } = started()
  await run.step(
    'Start a cluster',
    async (note) => {
      note('Cluster: local')
      run.undo('Stopping the cluster', async () => undefined)
      return 'local'
    },
    (name) => name,
  )
  run.undo('Stopping NATS', () => Promise.reject(new Error('it is gone')))
  await run.finish()
  expect(lines).toEqual([
    '… Start a cluster',
    '    Cluster: local',
    '✓ Start a cluster: local',
    '… Stopping NATS',
    '✗ Stopping NATS',
    '    it is gone',
    '… Stopping the cluster',
    '✓ Stopping the cluster',
  ])
})

test('a failure names its step', async () => {
  const { run, lines } = started()
  const failing = run.step('Start NATS', () => Promise.reject(new Error('no such program')))
  await expect(failing).rejects.toThrow(new ProcessError('"Start NATS" failed: no such program'))
  expect(lines.at(-1)).toBe('✗ Start NATS')
})

test('an interrupt ends the step that is under way, and what it still does is undone', async () => {
  const { run } = started()
  const { promise: slow, resolve } = Promise.withResolvers<void>()
  const undone: string[] = []
  const step = run.step('Start a cluster', async () => {
    await slow
    run.undo(undefined, async () => void undone.push('cluster'))
  })
  run.abort(new Interrupted('SIGINT'))
  resolve()
  await expect(step).rejects.toThrow(Interrupted)
  await run.finish()
  expect(undone).toEqual(['cluster'])
  await expect(run.step('Start NATS', async () => undefined)).rejects.toThrow(Interrupted)
})
