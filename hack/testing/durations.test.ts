import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../process/folder.ts'
import { expectedSeconds, LONG, readDurations, writeDurations } from './durations.ts'

test('what files took is remembered over runs of other files', async () => {
  const folder = await temporaryFolder('durations')
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'tests', 'durations.json')
  expect(readDurations(file)).toEqual({})
  writeDurations({ 'a.test.ts': 1, 'b.test.ts': 2 }, file)
  writeDurations({ 'b.test.ts': 3 }, file)
  expect(readDurations(file)).toEqual({ 'a.test.ts': 1, 'b.test.ts': 3 })
})

test('a file without a past is guessed by its kind', () => {
  expect(expectedSeconds('test/e2e/up.test.ts', { 'test/e2e/up.test.ts': 7 })).toBe(7)
  expect(expectedSeconds('test/e2e/another.test.ts', {})).toBeGreaterThan(
    expectedSeconds('test/integration/client/api.test.ts', {}),
  )
  expect(expectedSeconds('test/integration/client/api.test.ts', {})).toBeGreaterThan(
    expectedSeconds('operator/model/clock.test.ts', {}),
  )
})

test('where nothing is remembered, the files known to be long begin first', () => {
  const repository = join(import.meta.dirname, '..', '..')
  const ofItsKind = expectedSeconds('test/integration/client/api.test.ts', {})
  for (const file of Object.keys(LONG)) {
    expect(existsSync(join(repository, file)), file).toBe(true)
    expect(expectedSeconds(file, {})).toBeGreaterThan(ofItsKind)
  }
})
