import { expect, test } from 'vitest'
import { parseTestArguments } from './arguments.ts'

test('own arguments are taken out, and the others stay for vitest in their order', () => {
  expect(
    parseTestArguments(['--no-install', 'controllers', '--changed=main', '-t', 'backoff', '--profile', '--minutes=80']),
  ).toEqual({
    help: false,
    profile: true,
    install: false,
    changedSince: 'main',
    minutes: 80,
    rest: ['controllers', '-t', 'backoff'],
  })
})

test('without a commit, what is not committed is the change', () => {
  expect(parseTestArguments(['--changed'])).toEqual({
    help: false,
    profile: false,
    install: true,
    changedSince: 'HEAD',
    minutes: undefined,
    rest: [],
  })
})

test('who asks for help gets no test run', () => {
  for (const arg of ['--help', '-h']) expect(parseTestArguments([arg])).toMatchObject({ help: true, rest: [] })
})
