import { Command } from 'commander'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Flags, flag, optional, several, toggle, type Values } from '#operator/flags/flag.ts'
import { oneOf, someOf } from '#operator/flags/values.ts'
import { addFlags, readFlags } from './flag.ts'
import { logFlags } from './log-flags.ts'

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

describe('a flag that had another name until the last release', () => {
  const text = (value: string) => value
  const renamed = {
    apiUrl: { ...optional('URL', 'the API', text), formerly: ['url', 'address'] },
    verbose: { ...toggle('more'), formerly: ['chatty'] },
    names: { ...several('NAME', 'which', text), formerly: ['name'] },
  } satisfies Flags

  const read = (flags: Flags, ...args: readonly string[]) => {
    const warnings: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => warnings.push(String(chunk)) > 0)
    const command = addFlags(new Command('test'), flags).exitOverride()
    command.parse(args, { from: 'user' })
    return { values: readFlags(command, flags), warnings, help: command.helpInformation() }
  }

  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('takes its former names too, names the new one, and shows the new one alone', () => {
    const { values, warnings, help } = read(renamed, '--url=x', '--chatty', '--name=a', '--name=b')
    expect(values).toEqual({ apiUrl: 'x', verbose: true, names: ['a', 'b'] })
    expect(warnings).toEqual([
      'muster: --url is the former name of --api-url, and the next release knows it no more: write --api-url\n',
      'muster: --chatty is the former name of --verbose, and the next release knows it no more: write --verbose\n',
      'muster: --name is the former name of --names, and the next release knows it no more: write --names\n',
    ])
    expect(help).not.toMatch(/--(url|address|chatty|name)\b/)
    expect(read(renamed, '--api-url=x', '--verbose', '--names=a').warnings).toEqual([])
  })

  test('takes its former variables too, and the command line wins', () => {
    vi.stubEnv('MUSTER_ADDRESS', 'x')
    vi.stubEnv('MUSTER_NAMES', 'a')
    const { values, warnings } = read(renamed)
    expect(values).toEqual({ apiUrl: 'x', verbose: false, names: 'a'.split(',') })
    expect(warnings).toEqual([
      'muster: MUSTER_ADDRESS is the former name of MUSTER_API_URL, and the next release knows it no more: write MUSTER_API_URL\n',
    ])
    expect(read(renamed, '--url=y').values).toMatchObject({ apiUrl: 'y' })
    expect(read(renamed, '--api-url=y')).toMatchObject({ values: { apiUrl: 'y' }, warnings: [] })
  })

  test('is refused with two values, and taken with the same one twice', () => {
    vi.stubEnv('MUSTER_NAMES', 'a')
    expect(() => read(renamed, '--url=x', '--api-url=y')).toThrow(
      '--api-url and --url are one flag, and have different values: write --api-url alone',
    )
    expect(() => read(renamed, '--url=x', '--address=y')).toThrow(
      '--url and --address are one flag, and have different values: write --api-url alone',
    )
    expect(read(renamed, '--url=x', '--api-url=x').values).toMatchObject({ apiUrl: 'x' })
    vi.stubEnv('MUSTER_URL', 'x')
    vi.stubEnv('MUSTER_API_URL', 'y')
    expect(() => read(renamed)).toThrow(
      'MUSTER_API_URL and MUSTER_URL are one flag, and have different values: write MUSTER_API_URL alone',
    )
  })

  test('blames a bad value on the name that was written', () => {
    const level = { logLevel: { ...flags.logLevel, formerly: ['level'] } }
    expect(() => read(level, '--level=loud')).toThrow('--level: "loud" is not known')
    vi.stubEnv('MUSTER_LEVEL', 'loud')
    expect(() => read(level)).toThrow('MUSTER_LEVEL: "loud" is not known')
  })

  test('warns in the log, where the program has one, as it is to be written', () => {
    const logged = { ...logFlags, apiUrl: renamed.apiUrl }
    const { warnings } = read(logged, '--url=x', '--log-format=text')
    expect(warnings).toEqual([
      expect.stringMatching(/^\S+ WARN {2}--url is the former name of --api-url, .*: write --api-url\n$/),
    ])
    expect(JSON.parse(read(logged, '--url=x').warnings[0] ?? '')).toMatchObject({
      level: 'warn',
      msg: expect.stringContaining('--url is the former name of --api-url'),
    })
    expect(read(logged, '--url=x', '--log-level=error').warnings).toEqual([])
  })
})
