import { expect, test } from 'vitest'
import { seedOf } from './random.ts'
import { SERVERS, strikesOf, told } from './strikes.ts'

const options = { seed: 7, duration: 60_000, pace: 1_500, processes: ['api', 'pools'], servers: SERVERS }

test('the same seed strikes the same at the same times, another one does not', () => {
  expect(strikesOf(options)).toEqual(strikesOf(options))
  expect(strikesOf({ ...options, seed: 8 })).not.toEqual(strikesOf(options))
})

test('every process and every server is struck, in the order of time, before the end', () => {
  for (let seed = 0; seed < 50; seed++) {
    const strikes = strikesOf({ ...options, seed })
    const lines = strikes.map(({ strike }) => told(strike))
    for (const process of options.processes) expect(lines).toContain(`SIGKILL to ${process}`)
    for (const server of SERVERS) expect(lines).toContain(`SIGKILL to ${server}, which begins again`)
    expect(lines).toContain('every connection to the API server breaks')
    const times = strikes.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.every((at) => at >= 0 && at < options.duration)).toBe(true)
    expect(strikes).toHaveLength(40)
  }
})

test('a seed is a whole number, or is said to be none', () => {
  expect([seedOf(undefined), seedOf('86362')]).toEqual([undefined, 86362])
  expect(() => seedOf('soon')).toThrow('MUSTER_FIRE_SEED is "soon": write a whole number, such as 86362')
})
