import { Command } from 'commander'
import { afterEach, expect, test, vi } from 'vitest'
import { type Flags, flag, optional, toggle, type Values } from '#operator/flags/flag.ts'
import { oneOf, someOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from './flag.ts'

const flags = {
  logLevel: flag('LEVEL', 'how much', oneOf('info', 'debug'), 'info'),
  leaderElect: toggle('one at a time'),
  controllers: flag('NAMES', 'which', someOf('sentinel', 'adapter'), 'sentinel,adapter'),
  config: optional('NAME', 'the one', (text) => text),
} satisfies Flags

/** What the flags read to with these arguments. */
const given = (...args: readonly string[]): Values<typeof flags> => {
  const command = addFlags(new Command('test'), flags).exitOverride()
  command.parse(args, { from: 'user' })
  return readFlags(command, flags)
}

afterEach(() => {
  vi.unstubAllEnvs()
})

test('without anything the defaults hold', () => {
  expect(given()).toEqual({
    logLevel: 'info',
    leaderElect: false,
    controllers: ['sentinel', 'adapter'],
    config: undefined,
  })
})

test('a variable gives what the command line does not', () => {
  vi.stubEnv('MUSTER_LOG_LEVEL', 'debug')
  vi.stubEnv('MUSTER_CONFIG', 'us-east')
  expect(given('--config=us-west')).toMatchObject({ logLevel: 'debug', config: 'us-west' })
})

test.each([
  [['--leader-elect'], true],
  [['--leader-elect=true'], true],
  [['--leader-elect=false'], false],
])('%s is %s', (args, expected) => {
  expect(given(...args).leaderElect).toBe(expected)
})

test('a variable that says false switches off', () => {
  vi.stubEnv('MUSTER_LEADER_ELECT', 'false')
  expect(given().leaderElect).toBe(false)
})

test('a bad value is blamed on where it came from', () => {
  expect(() => given('--log-level=debg')).toThrow(
    '--log-level: "debg" is not known; did you mean debug? (valid: info, debug)',
  )
  vi.stubEnv('MUSTER_LOG_LEVEL', 'debg')
  expect(() => given()).toThrow('MUSTER_LOG_LEVEL: "debg" is not known')
})

test('names in a list count once, blanks not at all', () => {
  expect(given('--controllers=adapter, adapter,').controllers).toEqual(['adapter'])
})
