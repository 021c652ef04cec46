import { expect, test } from 'vitest'
import { PatchError } from '../json-patch/operation.ts'
import { createLogger, type LogOptions } from './logger.ts'

/** A logger and what it has written. */
const logging = (options: Partial<LogOptions> = {}) => {
  const lines: string[] = []
  const log = createLogger({ logLevel: 'info', logFormat: 'json', ...options }, { write: (line) => lines.push(line) })
  return { log, lines }
}

test('a line is JSON with level, time, message and fields', () => {
  const { log, lines } = logging()
  log.child({ controller: 'sentinel' }).info('pulsed', { reason: 'New' })
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines.join(''))).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    controller: 'sentinel',
    reason: 'New',
    msg: 'pulsed',
  })
})

test('what is below the level is not written', () => {
  const { log, lines } = logging({ logLevel: 'warn' })
  log.info('quiet')
  log.error('loud')
  expect(lines).toHaveLength(1)
})

test('secrets reach neither a line nor a child’s lines', () => {
  const { log, lines } = logging()
  log.child({ token: 'hunter2' }).warn('refused', { password: 'hunter2', url: 'postgres://muster:hunter2@db' })
  expect(lines.join('')).not.toContain('hunter2')
})

test('for people a line is text, and the stack of an error stands below', () => {
  const { log, lines } = logging({ logFormat: 'text' })
  log.error('the watch broke', { kind: 'SentinelConfig', tries: 2, error: new Error('connection cut') })
  const [head, stack] = lines.join('').split('\n')
  expect(head).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} ERROR the watch broke {2}kind=SentinelConfig {2}tries=2 {2}error="connection cut"$/,
  )
  expect(stack).toBe('    Error: connection cut')
})

test('for people, what to do about an error of the catalogue stands below its stack', () => {
  const { log, lines } = logging({ logFormat: 'text' })
  log.error('the patch is refused', { error: new PatchError(0, '{}', 'it has no path') })
  expect(lines.join('').trimEnd().split('\n').at(-1)).toBe(
    '    To do: correct the operation that the message names, counted from 0',
  )
})
