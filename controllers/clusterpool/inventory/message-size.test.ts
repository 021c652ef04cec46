import { describe, expect, test } from 'vitest'
import type { InventoryEntry } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { aCustomization, aPool, versionOf } from '#test/worlds/clusterpool/builders.ts'
import { planPass, statusIn } from '#test/worlds/clusterpool/scenario.ts'
import { computePoolVersion } from '../cluster/pool-version.ts'
import { messageLimits, truncate } from './message-size.ts'

/** As Go writes it, so as etcd stores it. */
const stored = (value: unknown): number =>
  Buffer.byteLength(JSON.stringify(value).replaceAll(/[<>&\u2028\u2029]/g, '\\u003c'))

describe('POOL-18: the messages of an inventory', () => {
  const LIMIT = 1.5 * 1_024 * 1_024
  const text = '<p class="error">the cloud is wörking on it & said “no”</p>\n'.repeat(200)
  const names = (count: number) => Array.from({ length: count }, (_, index) => `customization-number-${index + 1000}`)

  /** The customizations of a pool that all failed in the cloud, and of which the API server refuses every second cluster. */
  const failing = (count: number, before = text) => {
    const inventory = names(count)
    const version = computePoolVersion(aPool({ inventory }).spec)
    const failure = { count: 1, uid: '5b0d6ff0-6f38-4f8e-9d6b-1b54b6ac2d3e', poolVersion: version, message: before }
    const entry = (name: string): InventoryEntry => ({
      version: versionOf(name),
      status: 'Available',
      attempts: 2,
      retryTime: '2026-03-01T12:00:00.000Z',
      failure,
    })
    return {
      pool: aPool({ inventory, size: 0, entries: Object.fromEntries(inventory.map((name) => [name, entry(name)])) }),
      customizations: inventory.map((name) => aCustomization(name)),
      refused: new Map(
        inventory
          .filter((_, index) => index % 2 === 0)
          .map((name) => [name, { version: versionOf(name), message: text }]),
      ),
    }
  }

  test.each([1, 64, 65, 300, 1_000])(
    'of %i customizations have room, whatever went wrong, and no name is lost',
    (count) => {
      const status = statusIn(planPass(failing(count)))
      expect(Object.keys(status.inventory ?? {})).toEqual(names(count))
      expect(Object.values(status.inventory ?? {}).every(({ message }) => message !== undefined)).toBe(true)
      // What else is in the object, above all the owner of each field, takes as much as the entries do without their messages.
      const messages = Object.values(status.inventory ?? {}).map(({ message, failure }) => [message, failure?.message])
      expect(2 * stored(status) - stored(messages)).toBeLessThan(LIMIT)
    },
  )

  test('say the same again in the next pass', () => {
    const given = failing(300)
    const { inventory } = statusIn(planPass(given))
    const next = { ...given.pool, status: { ...given.pool.status, ...(inventory && { inventory }) } }
    expect(statusIn(planPass({ ...given, pool: next })).inventory).toEqual(inventory)
  })

  test('are whole where few have much to say, and end with what to do where many have', () => {
    const message = 'cluster one failed: no more tries'
    const few = statusIn(planPass(failing(3, message))).inventory?.['customization-number-1001']
    expect(few?.message).toBe(`${message}; 1 of 3 attempts used; tried again at 2026-03-01T12:00:00.000Z or later`)
    const many = statusIn(planPass(failing(1_000))).inventory?.['customization-number-1001']
    expect(many?.message).toMatch(/…; 1 of 3 attempts used; tried again at 2026-03-01T12:00:00.000Z or later$/)
  })
})

test('the more entries, the less room each has, in steps of one half', () => {
  expect([0, 1, 64, 65, 128, 129, 1_024, 2_000].map((count) => messageLimits(count).message)).toEqual([
    4_096, 4_096, 4_096, 2_048, 2_048, 1_024, 256, 128,
  ])
  expect([64, 128, 512].map((count) => messageLimits(count).failure)).toEqual([1_024, 1_024, 256])
})

test.each([
  ['a text that has room is left as it is', 'four', 4, 'four'],
  ['what is cut off is told', 'five!', 4, 'f…'],
  ['characters count as they are stored', '<<<<', 16, '<<…'],
  ['no character is cut in half', '😀😀😀', 8, '😀…'],
] as const)('%s', (_what, text, room, expected) => {
  expect(truncate(text, room)).toBe(expected)
  expect(truncate(expected, room)).toBe(expected)
})
