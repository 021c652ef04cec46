import { describe, expect, test } from 'vitest'
import type { RolloutStatus } from '#apis/fleet.nationtech.io/v1alpha1/rollout.ts'
import { parseControls } from '../rollout/annotations.ts'
import { ignoredAnnotationConditions, undecidedConditions } from './told-conditions.ts'

const nothingBefore = { before: undefined, generation: 2 }
const before = (type: string) => ({
  before: [{ type, status: 'True' as const, reason: 'x', message: 'y', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  generation: 2,
})

// FLEET-115
test('an expression that fails for some devices is told with how many, one of them and why; afterwards that it is over', () => {
  const undecided = { count: 2, device: 'gate-1', why: 'the expression fails: no such key: arch' }
  expect(undecidedConditions(undecided, nothingBefore)).toEqual([
    {
      type: 'DevicesUndecided',
      status: 'True',
      reason: 'ExpressionFails',
      message:
        "of 2 devices spec.targetExpression can't say whether it is meant, so nothing is added there and nothing removed; of gate-1 the expression fails: no such key: arch",
      observedGeneration: 2,
    },
  ])
  expect(undecidedConditions(undefined, nothingBefore)).toEqual([])
  expect(undecidedConditions(undefined, before('DevicesUndecided'))).toMatchObject([
    { status: 'False', reason: 'AllDecided', message: '' },
  ])
})

describe('FLEET-116: an annotation of a person', () => {
  const approves = (value: string) => ({ 'fleet.nationtech.io/approve-batch': value })
  const aborts = (value: string) => ({ 'fleet.nationtech.io/abort-revision': value })
  const told = (annotations: Record<string, string>, phase: RolloutStatus['phase']) =>
    ignoredAnnotationConditions(
      parseControls(annotations),
      { revision: 5, phase } as unknown as RolloutStatus,
      nothingBefore,
    ).map(({ status, reason, message }) => `${status}/${reason}: ${message}`)

  test.each<[string, Record<string, string>, RolloutStatus['phase'], string]>([
    [
      'approves an earlier revision while this one waits',
      approves('2@4'),
      'Waiting',
      'approve-batch is for revision 4',
    ],
    ['approves a later revision than there is', approves('2@6'), 'Active', 'approve-batch is for revision 6'],
    [
      'takes an earlier revision back while this one is suspended',
      aborts('4'),
      'Suspended',
      'abort-revision is for revision 4',
    ],
    ['takes a later revision back than there is', aborts('6'), 'Inactive', 'abort-revision is for revision 6'],
  ])('that %s is told', (_, annotations, phase, what) => {
    expect(told(annotations, phase)).toEqual([
      expect.stringMatching(
        new RegExp(`^True/OtherRevision: fleet.nationtech.io/${what}, and revision 5 is rolled out: it `),
      ),
    ])
  })

  test.each<[string, Record<string, string>, RolloutStatus['phase']]>([
    ['is of this revision', approves('2@5'), 'Waiting'],
    ['is left over from an earlier one that nothing waits for', { ...approves('2@4'), ...aborts('4') }, 'Active'],
    ['is not there', {}, 'Waiting'],
  ])('that %s is not told', (_, annotations, phase) => {
    expect(told(annotations, phase)).toEqual([])
  })

  test('that was corrected is told of as over', () => {
    const rollout = { revision: 5, phase: 'Active' } as unknown as RolloutStatus
    expect(
      ignoredAnnotationConditions(parseControls(approves('2@5')), rollout, before('AnnotationIgnored')),
    ).toMatchObject([{ status: 'False', reason: 'NoneIgnored' }])
  })
})
