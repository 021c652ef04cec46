import { formatDuration } from '#operator/model/duration.ts'

/** The answer of `GET …/explain`, as far as it is printed. */
export interface Explanation {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly generation: number
  readonly phase: string
  readonly deleted_time?: string
  readonly waits_for: readonly string[]
  readonly adapters: readonly {
    readonly adapter: string
    readonly state: string
    readonly why: string
    readonly status?: { readonly last_report_time: string; readonly latest_report?: { readonly observed_time: string } }
  }[]
  readonly discarded: readonly {
    readonly received_time: string
    readonly reason: string
    readonly report: { readonly adapter: string; readonly observed_generation: number }
  }[]
  readonly remaining: readonly {
    readonly adapter: string
    readonly message?: string
    readonly object?: {
      readonly kind?: string
      readonly namespace?: string
      readonly name?: string
      readonly finalizers?: readonly string[]
    }
  }[]
  readonly pulses: {
    readonly last?: { readonly time: string; readonly reason: string; readonly source: string }
    readonly next?: { readonly time: string }
  }
  readonly queue: readonly {
    readonly group: string
    readonly reason: string
    readonly state: string
    readonly deliveries: number
    readonly position?: number
  }[]
}

/** For people: what it waits for first, then what is known. @param now ages are counted to it */
export const formatExplanation = (explanation: Explanation, now: Date): string => {
  const { kind, name, id, generation, phase, deleted_time, waits_for, adapters, discarded, remaining, queue } =
    explanation
  const since = (time: string) => `${time} (${formatAge(time, now)})`
  const { last, next } = explanation.pulses
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['waits for', waits_for.length === 0 ? ['nothing'] : waits_for],
    [
      'left, as last reported',
      remaining.map(({ adapter, message, object }) => `${adapter}: ${object ? describeObject(object) : message}`),
    ],
    [
      'adapters',
      adapters.map(({ adapter, state, why, status }) => {
        const time = status?.latest_report?.observed_time ?? status?.last_report_time
        return `${adapter}  ${state}  ${time === undefined ? 'no report' : `reported ${since(time)}`}\n    ${why}`
      }),
    ],
    [
      'reports that were not aggregated',
      discarded.map(
        ({ received_time, reason, report }) =>
          `${since(received_time)}  ${report.adapter}, generation ${report.observed_generation}: ${reason}`,
      ),
    ],
    [
      'pulses',
      [
        last === undefined ? 'none' : `last: ${since(last.time)}  ${last.reason}, from ${last.source}`,
        ...(next === undefined ? [] : [describeNext(explanation, next.time, now)]),
      ],
    ],
    [
      'events on their way',
      queue.map(
        ({ group, reason, state, position, deliveries }) =>
          `${group}: ${reason}, ${state}${position === undefined ? '' : ` at place ${position}`}, delivered ${deliveries} times`,
      ),
    ],
  ]
  const head = `${kind} ${name} (${id}), generation ${generation}: ${phase}${deleted_time === undefined ? '' : ` since ${since(deleted_time)}`}`
  const parts = sections.filter(([, lines]) => lines.length > 0)
  return `${[head, ...parts.flatMap(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)])].join('\n')}\n`
}

/**
 * A Sentinel says with each pulse when the next one is due. A report puts it off, by how much the Sentinel alone knows (GITOPS-57).
 * @param time of the next pulse, as it was said with the last one
 */
const describeNext = ({ adapters, pulses: { last } }: Explanation, time: string, now: Date): string => {
  if (Date.parse(time) > now.getTime()) return `next: ${time}, unless something changes`
  const isReportedSince = adapters.some(
    ({ status }) => status !== undefined && Date.parse(status.last_report_time) >= Date.parse(last?.time ?? time),
  )
  return isReportedSince
    ? 'next: put off by reports since the last one, until something changes or the backoff of its Sentinel is over'
    : `next: was due ${time} (${formatAge(time, now)}), and has not come: kubectl get sentinelconfigs -A`
}

const describeObject = ({
  kind = '?',
  namespace,
  name = '?',
  finalizers = [],
}: NonNullable<Explanation['remaining'][number]['object']>): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}${finalizers.length > 0 ? `, held by ${finalizers.join(', ')}` : ''}`

const formatAge = (time: string, now: Date): string => {
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(time)) / 1_000))
  return `${formatDuration(seconds * 1_000)} ago`
}
