/** ADAPTER-136: a task whose runs are refused says so itself. */
import { describe, expect, test } from 'vitest'
import { findCondition } from '#operator/model/conditions.ts'
import { TaskStats } from './daemon/task-stats.ts'
import type { RunResult } from './run/run.ts'
import { buildStatus, type StatusInput } from './status.ts'

const statsOf = () => new TaskStats({ processed: 0, failed: 0, skipped: 0, deadLetters: 0 })

const ended = (status: 'success' | 'failed' | 'skipped', reason?: string): RunResult =>
  ({
    trace: { status, mode: 'apply', failures: reason === undefined ? [] : [{ reason, message: `refused: ${reason}` }] },
    remaining: [],
    isReported: true,
    isDeleting: false,
  }) as unknown as RunResult

describe('ADAPTER-136: of runs that the API server refuses', () => {
  test('the last words are known while every resource that is worked on fails so', () => {
    const stats = statsOf()
    expect(stats.forbidden).toBeUndefined()
    stats.recordRun('a', ended('failed', 'Forbidden'), 0)
    expect(stats.forbidden).toBe('refused: Forbidden')
    stats.recordRun('b', ended('skipped'), 0)
    expect(stats.forbidden, 'one that is not for it says nothing').toBe('refused: Forbidden')
    stats.recordRun('c', ended('failed', 'ApplyFailed'), 0)
    expect(stats.forbidden, 'another one fails of something else').toBeUndefined()
    stats.forget('c')
    expect(stats.forbidden).toBe('refused: Forbidden')
  })

  test('one resource that is refused alone is no fault of the task', () => {
    const stats = statsOf()
    stats.recordRun('good', ended('success'), 0)
    stats.recordRun('bad', ended('failed', 'Forbidden'), 0)
    expect(stats.forbidden).toBeUndefined()
    stats.forget('good')
    expect(stats.forbidden).toBe('refused: Forbidden')
    stats.recordRun('bad', ended('success'), 0)
    expect(stats.forbidden).toBeUndefined()
  })

  test('the task is Stalled with the reason Forbidden, in the server\u2019s words, once events are taken', () => {
    const input = {
      generation: 1,
      suspended: false,
      connected: true,
      unwatchedKinds: new Map(),
      recentDeletions: '',
      begunDeletions: [],
      inFlight: 0,
      summary: {},
      lastRuns: [],
      forbidden: 'configmaps is forbidden: User "x" cannot create',
    } as unknown as StatusInput
    const conditions = (more: Partial<StatusInput>) =>
      buildStatus({ ...input, ...more }, undefined, new Date(0)).conditions as never
    expect(findCondition(conditions({}), 'Stalled')).toMatchObject({
      status: 'True',
      reason: 'Forbidden',
      message:
        'every run is refused: configmaps is forbidden: User "x" cannot create; give the ServiceAccount of the task that right: the next pulse tries again',
    })
    expect(findCondition(conditions({ suspended: true }), 'Ready')?.reason).toBe('Suspended')
  })
})
