/**
 * Which devices a Deployment is for: those that its selector matches, of which its expression holds, and whose taints it bears.
 * Where the expression fails, the answer is unknown: then nothing is added and nothing removed, for a slip of the pen must not empty a
 * fleet. FLEET-31, FLEET-32. Pure.
 */
import type { Taint, Toleration } from '#apis/fleet.nationtech.io/v1alpha1/taint.ts'
import { formatSelector, type LabelSelector, matches, type Requirement, selectorOf } from '#operator/model/selector.ts'
import { type Answer, compileExpression, type DeviceFacts } from './expression.ts'
import { formatTaint, judgeTaints } from './taints.ts'

export interface SelectableDevice extends DeviceFacts {
  readonly taints: readonly Taint[]
  /** What is known of it is of this time: tolerations for a while end by it. */
  readonly at: Date
}

export type Selection =
  | { readonly is: 'Selected' }
  | { readonly is: 'NotSelected'; readonly why: string }
  | { readonly is: 'Unknown'; readonly why: string }

export interface TargetSpec {
  readonly targetSelector: LabelSelector
  readonly targetExpression?: string
  readonly tolerations?: readonly Toleration[]
}

/** A label that a device has with one of these values, or it is not meant. */
export interface NeededLabel {
  readonly key: string
  readonly values: readonly string[]
}

/** Those that the selector names with their values: most devices are left out by these alone. @throws SelectorError */
export const neededLabels = ({ targetSelector }: Pick<TargetSpec, 'targetSelector'>): readonly NeededLabel[] =>
  selectorOf(targetSelector).flatMap((requirement) =>
    requirement.operator === 'In' ? { key: requirement.key, values: requirement.values } : [],
  )

/** A Deployment may be tried on all devices, and few are asked why not: the sentence is made for these. */
const notSelected = (why: () => string): Selection => ({
  is: 'NotSelected',
  get why() {
    return why()
  },
})

const lacks = (requirement: Requirement, { labels }: DeviceFacts): string => {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined
  const has =
    value === undefined
      ? `it has no label ${requirement.key}`
      : `its label ${requirement.key} is ${JSON.stringify(value)}`
  return `${has}, and the selector wants ${formatSelector([requirement])}`
}

/**
 * The rule of one Deployment, checked.
 * @returns what is said of a device, the same for the same device
 * @throws SelectorError, ExpressionError
 */
export const compileSelection = (spec: TargetSpec): ((device: SelectableDevice) => Selection) => {
  const selector = selectorOf(spec.targetSelector)
  const expression = spec.targetExpression === undefined ? undefined : compileExpression(spec.targetExpression)
  const { tolerations = [] } = spec
  // Expressions are dear, and only asked of the few devices that the selector leaves: their answers are kept.
  const answers = new WeakMap<SelectableDevice, Answer>()
  const holds = (device: SelectableDevice) => {
    if (expression === undefined) return true
    const answer = answers.get(device) ?? expression(device)
    answers.set(device, answer)
    return answer
  }
  return (device) => {
    const failing = selector.find((requirement) => !matches([requirement], device.labels))
    if (failing !== undefined) return notSelected(() => lacks(failing, device))
    const answer = holds(device)
    if (answer === false) return notSelected(() => 'the expression is false')
    const verdict = device.taints.length === 0 ? undefined : judgeTaints(device.taints, tolerations, device.at)
    if (verdict?.is === 'Evicted')
      return notSelected(() => `no toleration bears its taint ${formatTaint(verdict.taint)}`)
    return answer === true ? { is: 'Selected' } : { is: 'Unknown', why: `the expression fails: ${answer.problem}` }
  }
}
