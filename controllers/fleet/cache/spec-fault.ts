import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { messageOf } from '#lib/errors/message-of.ts'
import { SelectorError } from '#operator/model/selector.ts'
import { ControlError } from '../rollout/annotations.ts'
import { WindowError } from '../rollout/maintenance-windows.ts'
import { ExpressionError } from '../selection/expression.ts'
import { WorkloadError } from '../workload/rendering.ts'

/** Why a Deployment can't be worked on as it is written. */
export interface SpecFault {
  readonly reason: 'InvalidSpec' | 'TooLarge' | 'InvalidAnnotation'
  readonly message: string
}

/** @throws the error itself when the Deployment is not at fault */
export const explainFault = (error: unknown): SpecFault => {
  const until = 'until that is corrected, devices keep what they have'
  if (error instanceof ControlError) return { reason: 'InvalidAnnotation', message: error.message }
  if (error instanceof MalformedEntry)
    return { reason: 'TooLarge', message: `${error.message}: make the workload smaller; ${until}` }
  const isKnown = [SelectorError, ExpressionError, WindowError, WorkloadError].some((kind) => error instanceof kind)
  if (isKnown) return { reason: 'InvalidSpec', message: `${messageOf(error)}; ${until}` }
  throw error
}
