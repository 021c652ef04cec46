/** The functions of templates: Go's own, and those that the Go program for adapter tasks adds. */
import { formatTime } from '../time.ts'
import { collectionFunctions } from './collections.ts'
import { comparisonFunctions } from './comparisons.ts'
import { conversionFunctions } from './conversions.ts'
import type { TemplateFunction } from './function.ts'
import { outputFunctions } from './output.ts'
import { stringFunctions } from './strings.ts'

export type { TemplateFunction }

/** Functions of a renderer. @param now The time of its `now`; without it there is none, and renderings depend on their data alone. */
export const templateFunctions = (now: (() => Date) | undefined): readonly TemplateFunction[] => [
  ...comparisonFunctions,
  ...collectionFunctions,
  ...outputFunctions,
  ...(now === undefined
    ? []
    : [{ name: 'now', usage: 'now', description: 'The time, in UTC.', parameters: [], call: now }]),
  {
    name: 'date',
    usage: 'now | date "2006-01-02"',
    description: 'A time by a layout of Go.',
    parameters: ['string', 'time'],
    call: (layout: string, time: Date) => formatTime(time, layout),
  },
  {
    name: 'dateFormat',
    usage: 'now | dateFormat "15:04"',
    description: 'The same.',
    parameters: ['string', 'time'],
    call: (layout: string, time: Date) => formatTime(time, layout),
  },
  ...stringFunctions,
  ...conversionFunctions,
]
