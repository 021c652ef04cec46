/** Kubernetes label selectors, with exactly Kubernetes' rules (apimachinery `labels.Selector`). */

import { errorOf } from '#lib/errors/error-of.ts'
import { OPERATOR_ERRORS } from './error-catalogue.ts'

/** A selector as specs write it; all requirements must hold, an empty one matches everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly LabelExpression[]
}

export interface LabelExpression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

export type Labels = Readonly<Record<string, string>>

/** One requirement on one label. A missing label satisfies NotIn and DoesNotExist. */
export type Requirement =
  | { readonly key: string; readonly operator: 'In' | 'NotIn'; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: 'Exists' | 'DoesNotExist' }

/** A checked selector: every requirement must hold. Sorted and without duplicates, so equal selectors are deeply equal. */
export type Selector = readonly Requirement[]

/** Why a selector is none: what is wrong, where, and what to write instead. */
export class SelectorError extends errorOf(OPERATOR_ERRORS, 'SelectorError') {}

/** Checks a selector of a spec. @throws SelectorError that names the field, e.g. `matchExpressions[0].values` */
export const selectorOf = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Selector =>
  canonical([
    ...Object.entries(matchLabels).map(([key, value]) =>
      requirement({ key, operator: 'In', values: [value] }, `matchLabels[${JSON.stringify(key)}]`),
    ),
    ...matchExpressions.map((expression, position) => requirement(expression, `matchExpressions[${position}]`)),
  ])

/** Do these labels satisfy every requirement? */
export const matches = (selector: Selector, labels: Labels = {}): boolean =>
  selector.every((requirement) =>
    holds(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined),
  )

const holds = (requirement: Requirement, value: string | undefined): boolean => {
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && requirement.values.includes(value)
    case 'NotIn':
      return value === undefined || !requirement.values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
  }
}

/** The selector as `labels=` and `labelSelector=` write it, always the same for equal selectors; '' matches everything. */
export const formatSelector = (selector: Selector): string => selector.map(formatRequirement).join(',')

const formatRequirement = (requirement: Requirement): string => {
  const { key, operator } = requirement
  switch (operator) {
    case 'In':
    case 'NotIn': {
      const [equals, among] = operator === 'In' ? ['=', 'in'] : ['!=', 'notin']
      const { values } = requirement
      return values.length === 1 ? `${key}${equals}${values.join()}` : `${key} ${among} (${values.join(',')})`
    }
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
  }
}

/** One checked requirement. @param where the place in the spec or text, for the error */
export const requirement = ({ key, operator, values = [] }: LabelExpression, where: string): Requirement => {
  checkKey(key, where)
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) throw new SelectorError(`${where} has no values: ${operator} needs at least one`)
      for (const value of values) checkValue(value, where)
      return { key, operator, values: [...new Set(values)].toSorted() }
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) throw new SelectorError(`${where} has values: ${operator} takes none`)
      return { key, operator }
    default:
      throw new SelectorError(
        `${where} has the operator ${JSON.stringify(operator)}: write In, NotIn, Exists or DoesNotExist`,
      )
  }
}

/** Sorts by key and then by text, and drops repeated requirements. */
export const canonical = (requirements: readonly Requirement[]): Selector =>
  [...new Map(requirements.map((one) => [formatRequirement(one), one])).entries()]
    .toSorted(([textA, a], [textB, b]) => compare(a.key, b.key) || compare(textA, textB))
    .map(([, one]) => one)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** A label's value that is not empty, and its key behind the prefix. */
export const LABEL_TEXT = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Label keys: an optional DNS subdomain of at most 253 characters and '/', then a name of at most 63. */
const checkKey = (key: string, where: string): void => {
  const slash = key.indexOf('/')
  const prefix = slash === -1 ? undefined : key.slice(0, slash)
  const isValid =
    LABEL_TEXT.test(key.slice(slash + 1)) && (prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix)))
  if (isValid) return
  throw new SelectorError(
    `${where} has the label key ${JSON.stringify(key)}: write a name of at most 63 letters, digits, '-', '_' or '.', with an optional prefix such as example.com/`,
  )
}

const checkValue = (value: string, where: string): void => {
  if (value === '' || LABEL_TEXT.test(value)) return
  throw new SelectorError(
    `${where} has the label value ${JSON.stringify(value)}: write at most 63 letters, digits, '-', '_' or '.', beginning and ending with a letter or digit`,
  )
}
