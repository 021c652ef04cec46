import { expect, test } from 'vitest'
import { runLua } from '#test/harness/lua.ts'

type Verdict = { readonly status: string; readonly message: string }

const condition = (type: string, status: string, message: string) => ({ type, status, message, reason: 'R' })

const ready = [condition('Ready', 'True', 'all is well'), condition('Stalled', 'False', '')]
const waiting = [condition('Ready', 'False', '1 of 3'), condition('Reconciling', 'True', '1 of 3')]
const stalled = [condition('Ready', 'False', 'correct it'), condition('Stalled', 'True', 'correct it')]

const pool = (status?: object) => ({ kind: 'ClusterPool', metadata: { generation: 2 }, spec: {}, status })

const rollout = (phase: string, spec: object = {}, message?: string, conditions = waiting, goodSince?: string) => ({
  kind: 'Deployment',
  metadata: { generation: 1 },
  spec: { rollout: spec },
  status: { observedGeneration: 1, conditions, rollout: { phase, message, goodSince } },
})

/** One that works, with its condition Required. */
const task = (status: string, reason: string, message: string) => ({
  kind: 'AdapterTask',
  metadata: { generation: 1 },
  spec: {},
  status: { observedGeneration: 1, conditions: [...ready, { type: 'Required', status, reason, message }] },
})

test.for([
  ['without a status', pool(), 'Progressing', 'Its controller has said nothing yet'],
  ['without conditions', pool({ observedGeneration: 2 }), 'Progressing', 'Its controller has said nothing yet'],
  [
    'of an older generation',
    pool({ observedGeneration: 1, conditions: ready }),
    'Progressing',
    'Its controller has not seen the last change yet',
  ],
  ['ready', pool({ observedGeneration: 2, conditions: ready }), 'Healthy', 'all is well'],
  ['not ready yet', pool({ observedGeneration: 2, conditions: waiting }), 'Progressing', '1 of 3'],
  ['stalled', pool({ observedGeneration: 2, conditions: stalled }), 'Degraded', 'correct it'],
  [
    'a task that is suspended',
    {
      kind: 'AdapterTask',
      metadata: { generation: 1 },
      spec: { suspend: true },
      status: { observedGeneration: 1, conditions: ready },
    },
    'Suspended',
    'all is well',
  ],
  // GITOPS-40
  ['a task that is required', task('True', 'Required', 'each waits for it'), 'Healthy', 'all is well'],
  ['a task that is not, as is meant', task('False', 'NotMeantToBe', 'it counts'), 'Healthy', 'all is well'],
  ['a task whose API is not asked yet', task('Unknown', 'APINotAsked', '403'), 'Healthy', 'all is well'],
  ['a task that is not required', task('False', 'NotRequired', 'add it'), 'Healthy', 'all is well; add it'],
  [
    'a task of an API that decides nothing',
    task('Unknown', 'EveryReportCounts', 'add it'),
    'Healthy',
    'all is well; add it',
  ],
  [
    'a task of a kind that is undecided',
    task('False', 'RequiredAdaptersUndecided', 'add it'),
    'Healthy',
    'all is well; add it',
  ],
  [
    'a task beside a requirement without one',
    task('True', 'OthersHaveNoTask', 'add net'),
    'Healthy',
    'all is well; add net',
  ],
  [
    'a device that is off',
    {
      kind: 'Device',
      metadata: { generation: 1 },
      status: { conditions: [condition('Ready', 'Unknown', 'no heartbeat')] },
    },
    'Suspended',
    'no heartbeat',
  ],
  ['a rollout on its way', rollout('Active'), 'Progressing', '1 of 3'],
  ['a rollout that soaks', rollout('Waiting', { approval: 'Automatic' }), 'Progressing', '1 of 3'],
  [
    'a rollout that waits for approval',
    rollout('Waiting', { approval: 'Manual' }, 'batch 2 waits', waiting, '2026-01-01T00:00:00Z'),
    'Suspended',
    'batch 2 waits',
  ],
  ['a rollout that waits for a window', rollout('Waiting', { approval: 'Manual' }), 'Progressing', '1 of 3'],
  ['a rollout that a person paused', rollout('Paused', { paused: true }), 'Suspended', '1 of 3'],
  ['a rollout that its failures stopped', rollout('Suspended', {}, 'correct it', stalled), 'Degraded', 'correct it'],
] as const)('%s', async ([, object, status, message]) => {
  expect(await runLua<Verdict>('health.lua', object)).toEqual({ status, message })
})
