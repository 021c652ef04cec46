/** What Sentinels and adapter tasks ask of people. Pure. */
import { AdapterTask } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { keyOf } from '#operator/model/resource.ts'
import { objectPath } from '../parts/links.ts'
import { conditionFindings } from './condition-findings.ts'
import { type Finding, findingSubject } from './finding.ts'

export const sentinelFindings = (config: SentinelConfig, now: Date): readonly Finding[] => {
  const subject = findingSubject(SentinelConfig, config, objectPath('sentinels', keyOf(config.metadata)))
  const ownership = ['Overlapping', 'Unowned'].flatMap((type): Finding[] => {
    const condition = findCondition(config.status?.conditions, type)
    if (condition?.status !== 'True') return []
    const { reason, message, lastTransitionTime: since } = condition
    return [{ ...subject, severity: 'Act', reason, message, since }]
  })
  return [...conditionFindings(config, subject, now), ...ownership]
}

export const taskFindings = (task: AdapterTask, now: Date): readonly Finding[] => {
  const subject = findingSubject(AdapterTask, task, objectPath('tasks', keyOf(task.metadata)))
  const { failing = 0, stuck = 0, deadLetters = 0, lastError } = task.status ?? {}
  const count = (severity: Finding['severity'], reason: string, much: number, message: string): Finding[] =>
    much === 0 ? [] : [{ ...subject, severity, reason, message, since: undefined }]
  return [
    ...conditionFindings(task, subject, now),
    ...count(
      'Act',
      'DeletionsStuck',
      stuck,
      `${stuck} ${of(stuck)} for more than five minutes for its deletion to end`,
    ),
    ...count('Look', 'RunsFail', failing, `the last run failed for ${failing} resources${reported(lastError)}`),
    ...count('Look', 'DeadLetters', deadLetters, `${deadLetters} messages were no event of ours and were put aside`),
  ]
}

const of = (count: number): string => (count === 1 ? 'resource waits' : 'resources wait')

const reported = (error: string | undefined): string => (error === undefined ? '' : `: ${error}`)
