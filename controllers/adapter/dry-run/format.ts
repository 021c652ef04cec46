/** A dry run for people: one line a step, in the order in which things happened. */
import type { Json } from '../task/task.ts'
import type { DryRun } from './dry-run.ts'

const MAX_VALUE_CHARS = 160

export const formatDryRun = (run: DryRun): string => {
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['params', run.params.map(({ name, value }) => line(name, value === undefined ? '(none)' : truncate(value)))],
    [
      'preconditions',
      run.preconditions.map(({ name, met, message }) => line(name, met ? 'met' : `not met: ${message ?? ''}`)),
    ],
    [
      `resources${run.mode === 'delete' ? ' (deleting)' : ''}`,
      run.resources.map(({ name, action, object, message }) =>
        line(name, [action, object, message && `(${message})`].filter(Boolean).join(' ')),
      ),
    ],
    [
      'payloads',
      run.payloads.map(({ name, skipped, value }) => line(name, skipped ? 'skipped' : truncate(value ?? null))),
    ],
    [
      'post actions',
      run.actions.map(({ name, status, message }) => line(name, message ? `${status}: ${message}` : status)),
    ],
    [
      'requests',
      run.requests.map(({ method, url, status, attempts }) =>
        line(method, `${url} → ${status ?? 'no answer'}${attempts > 1 ? ` after ${attempts} attempts` : ''}`),
      ),
    ],
    ['report', run.report === undefined ? [] : formatConditions(run.report)],
    [
      'failures',
      run.failures.map(({ phase, step, reason, message }) =>
        line(`${phase}${step && ` ${step}`}`, `${reason}: ${message}`),
      ),
    ],
  ]
  const shown = sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [`${title}:`, ...lines].join('\n'))
  const end = run.skipReason === undefined ? run.status : `${run.status}: ${run.skipReason}`
  return `${[...shown, end].join('\n')}\n`
}

const line = (name: string, text: string): string => `  ${name.padEnd(20)} ${text}`

const truncate = (value: Json): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text
}

const formatConditions = (report: Json): readonly string[] => {
  const { conditions = [] } = report as { conditions?: readonly Record<string, string>[] }
  return conditions.map(({ type = '', status, reason, message }) => line(type, `${status} ${reason}: ${message}`))
}
