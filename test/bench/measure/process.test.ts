import { expect, test } from 'vitest'
import { parseCpuMs, parseMiB, parseRunMs } from './process.ts'

test('CPU is user and system time, also when the command has spaces and parentheses in its name', () => {
  const stat =
    '4242 (a (b) c) S 1 4242 4242 0 -1 4194560 5120 0 3 0 123 45 6 7 20 0 11 0 98765 1234567 3000 18446744073709551615'
  expect(parseCpuMs(stat)).toBe((123 + 45) * 10)
})

test('something else than a stat line is refused', () => {
  expect(() => parseCpuMs('')).toThrow('not a line of /proc/PID/stat')
})

test('time on a processor is read to the nanosecond', () => {
  expect(parseRunMs('5000001 700 12\n')).toBe(5.000001)
  expect(() => parseRunMs('')).toThrow('not a line of schedstat')
})

const status = 'Name:\tnode\nVmPeak:\t 9999999 kB\nVmHWM:\t   81920 kB\nVmRSS:\t   40960 kB\nThreads:\t11\n'

test('memory is read in MiB', () => {
  expect(parseMiB(status, 'VmHWM')).toBe(80)
  expect(parseMiB(status, 'VmRSS')).toBe(40)
})

test('a process without memory has ended', () => {
  expect(() => parseMiB('Name:\tnode\nState:\tZ (zombie)\n', 'VmRSS')).toThrow('the process has ended')
})
