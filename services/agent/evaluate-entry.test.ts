import { describe, expect, test } from 'vitest'
import { desiredCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { type AcceptedEntry, evaluateEntry, type PresentEntry } from './evaluate-entry.ts'

const sleeps = (seconds: string): Score => ({ type: 'Process', data: { command: ['sleep', seconds] } })

const entry = (score: Score, revision: number, uid = 'u-1', created = '2026-01-01T00:00:00Z'): AcceptedEntry => {
  const bytes = desiredCodec.encode({ owner: { uid, created }, revision, score }, revision)
  return { bytes, entry: desiredCodec.decode(bytes) }
}

const present: PresentEntry = { ...entry(sleeps('1'), 5), isUnverified: false }

test.for<[string, AcceptedEntry, string]>([
  ['the same bytes', present, 'Same'],
  ['the same workload under a later number', entry(sleeps('1'), 6), 'Renumber'],
  [
    'the same workload of a Deployment that was made anew',
    entry(sleeps('1'), 1, 'u-2', '2026-02-01T00:00:00Z'),
    'Renumber',
  ],
  ['a later revision', entry(sleeps('2'), 6), 'Run'],
  ['an earlier revision', entry(sleeps('2'), 4), 'Older'],
  ['a Deployment that was made before', entry(sleeps('2'), 9, 'u-0', '2025-01-01T00:00:00Z'), 'Older'],
])('%s', ([, { bytes }, verdict]) => {
  expect(evaluateEntry(bytes, present, undefined, undefined).verdict).toBe(verdict)
})

// AGENT-4
describe('what can’t be run', () => {
  test('bytes that are no entry have no answer', () => {
    expect(evaluateEntry(Buffer.from('{}'), present, undefined, undefined)).toEqual({
      verdict: 'Refuse',
      reason: "the entry in fleet-desired can't be read: schema is no whole number from 1 on",
      answered: undefined,
      isUnverified: false,
    })
  })

  test.for<[string, unknown, string]>([
    ['an unknown type', { type: 'Virtual', data: {} }, 'can\'t run workloads of the type "Virtual"'],
    ['no command', { type: 'Process', data: {} }, 'data.command must be a list of texts'],
    ['an empty program', { type: 'Process', data: { command: [''] } }, 'data.command must be a list of texts'],
    ['no span', { type: 'Process', data: { command: ['a'], stopTimeout: 'soon' } }, 'data.stopTimeout'],
    ['a variable that is no text', { type: 'Process', data: { command: ['a'], env: { A: 1 } } }, 'data.env'],
    ['no objects', { type: 'KubernetesManifests', data: { manifests: [] } }, 'data.manifests must be a list'],
    [
      'an object without a name',
      { type: 'KubernetesManifests', data: { manifests: [{ apiVersion: 'v1', kind: 'A' }] } },
      'manifests[0] has no metadata.name',
    ],
  ])('%s is said in the name of its revision', ([, score, reason]) => {
    const { bytes } = entry(score as Score, 6)
    expect(evaluateEntry(bytes, present, undefined, undefined)).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining(reason),
      answered: { uid: 'u-1', revision: 6, generation: 6 },
      isUnverified: false,
    })
  })
})

// AGENT-48
describe('what is not signed by a key that is known', () => {
  const problem = 'it is not signed'

  test.for<[string, AcceptedEntry]>([
    ['a later revision', entry(sleeps('2'), 6)],
    ['an earlier revision', entry(sleeps('2'), 4)],
    ['the same workload under a later number', entry(sleeps('1'), 6)],
  ])(
    'is refused, and complained of in the name of its revision: %s',
    ([
      ,
      {
        bytes,
        entry: { payload },
      },
    ]) => {
      const answered = { uid: 'u-1', revision: payload.revision, generation: payload.revision }
      const refused = { verdict: 'Refuse', reason: problem, answered, isUnverified: true }
      expect(evaluateEntry(bytes, present, undefined, problem)).toEqual(refused)
      expect(evaluateEntry(bytes, undefined, undefined, problem)).toEqual(refused)
    },
  )

  test('changes nothing where it is what runs', () => {
    expect(evaluateEntry(present.bytes, present, undefined, problem)).toEqual({ verdict: 'Same' })
  })

  test('is refused whatever it holds', () => {
    expect(evaluateEntry(Buffer.from('{}'), present, undefined, problem)).toMatchObject({
      verdict: 'Refuse',
      reason: problem,
    })
  })
})

// AGENT-50
describe('after the device has removed revision 5 of a Deployment', () => {
  const { owner, revision } = present.entry.payload
  const removed = { owner, revision, generation: 5 }

  test.for<[string, AcceptedEntry]>([
    ['that revision, as when the device is selected again', present],
    ['a later one', entry(sleeps('2'), 6)],
    ['a Deployment that was made anew', entry(sleeps('2'), 1, 'u-2', '2026-02-01T00:00:00Z')],
  ])('%s is run', ([, { bytes }]) => {
    expect(evaluateEntry(bytes, undefined, removed, undefined).verdict).toBe('Run')
  })

  test.for<[string, AcceptedEntry]>([
    ['an earlier revision', entry(sleeps('2'), 4)],
    ['a Deployment that was made before', entry(sleeps('2'), 9, 'u-0', '2025-01-01T00:00:00Z')],
  ])('%s is not, and the device says what it had', ([, { bytes }]) => {
    expect(evaluateEntry(bytes, undefined, removed, undefined)).toEqual({
      verdict: 'Refuse',
      reason: expect.stringContaining('is older than revision 5, which this device had'),
      answered: { uid: 'u-1', revision: 5, generation: 5 },
      isUnverified: false,
    })
  })
})

// AGENT-51
describe('what is signed, where an entry runs that is not, as of the time before the device had public keys', () => {
  const planted = { ...entry(sleeps('9'), 7, 'thief', '9999-01-01T00:00:00Z'), isUnverified: true }

  test.for<[string, AcceptedEntry]>([
    ['of a Deployment that was made before', entry(sleeps('1'), 1)],
    ['an earlier revision of the same', entry(sleeps('1'), 6, 'thief', '9999-01-01T00:00:00Z')],
  ])('is run: %s', ([, { bytes }]) => {
    expect(evaluateEntry(bytes, planted, undefined, undefined).verdict).toBe('Run')
  })

  test('restarts nothing where the workload is the same', () => {
    expect(evaluateEntry(entry(sleeps('9'), 1).bytes, planted, undefined, undefined).verdict).toBe('Renumber')
  })

  test('is not run where the device had removed a later one that was signed', () => {
    const removed = { owner: present.entry.payload.owner, revision: 5, generation: 5 }
    expect(evaluateEntry(entry(sleeps('1'), 4).bytes, planted, removed, undefined)).toMatchObject({
      verdict: 'Refuse',
      reason: expect.stringContaining('is older than revision 5, which this device had'),
    })
  })

  test('while nothing is signed the planted one stays, and an unsigned one does not take its place', () => {
    expect(evaluateEntry(entry(sleeps('1'), 8).bytes, planted, undefined, 'not signed').verdict).toBe('Refuse')
  })
})
