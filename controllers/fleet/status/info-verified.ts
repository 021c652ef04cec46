/**
 * Whether what a device says of itself is taken, and its Device's condition `InfoVerified`: FLEET-122 to FLEET-124. Pure.
 *
 * By labels and inventory Deployments select devices and fill in their workloads, so what opens NATS would choose what runs where.
 */
import type { InfoSignature } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'

const TYPE = 'InfoVerified'

export interface InfoEvidence {
  /** Of the info that the store has; `NoKey` where no key of the device is known, `NotAsked` where the operator has no keys of devices. */
  readonly signature: InfoSignature | { readonly verdict: 'NoKey' } | { readonly verdict: 'NotAsked' }
  /** The counter of the last info of this Device that was signed; undefined when none ever was. */
  readonly counter: number | undefined
}

export interface InfoVerdict {
  /** Whether Device and Deployments go by it. */
  readonly isTaken: boolean
  /** To be remembered: an info with a lower one is an old one. */
  readonly counter: number | undefined
  /** None where nothing is asked for. */
  readonly condition: Pick<ConditionInput, 'status' | 'reason' | 'message'> | undefined
}

export const evaluateInfo = ({ signature, counter }: InfoEvidence): InfoVerdict => {
  const refused = (reason: string, message: string): InfoVerdict => ({
    isTaken: false,
    counter,
    condition: { status: 'False', reason, message: `${message}: the Device keeps what it has. ${ADVICE}` },
  })
  switch (signature.verdict) {
    case 'NotAsked':
      return { isTaken: true, counter, condition: undefined }
    case 'NoKey':
      return counter === undefined
        ? { isTaken: true, counter, condition: undefined }
        : refused('KeyUnknown', 'its agent signs what it says, and no public key of it is known here')
    case 'Wrong':
      return refused('NotItsOwn', 'what stands in fleet-info has a signature that is not of its key')
    case 'Missing':
      return counter === undefined
        ? {
            isTaken: true,
            counter,
            condition: {
              status: 'False',
              reason: 'NotSigned',
              message:
                'its agent signs nothing of what it says, so what opens NATS can say it: update the agent, and give it the key by --nats-credentials',
            },
          }
        : refused('SignatureMissing', 'what stands in fleet-info is not signed, and its agent has signed before')
    case 'Signed':
      return counter !== undefined && signature.counter < counter
        ? refused('Outdated', 'what stands in fleet-info is older than what its agent said before')
        : {
            isTaken: true,
            counter: signature.counter,
            condition: { status: 'True', reason: 'Signed', message: 'its agent has signed what it says' },
          }
  }
}

const ADVICE =
  'If the device lost its state or has another key, delete the Device, and it is made anew; else the key of NATS that wrote it is in wrong hands'

export interface InfoConditionInput {
  readonly verdict: InfoVerdict | undefined
  readonly before: readonly Condition[] | undefined
  readonly generation: number | undefined
}

/** None where nothing is asked for, unless the Device has the condition: then it becomes Unknown. */
export const infoConditions = ({ verdict, before, generation }: InfoConditionInput): readonly ConditionInput[] => {
  if (verdict === undefined) return []
  const condition =
    verdict.condition ??
    (findCondition(before, TYPE) === undefined
      ? undefined
      : {
          status: 'Unknown' as const,
          reason: 'NotChecked',
          message: 'the operator knows no key of it: see --fleet-device-keys',
        })
  return condition === undefined
    ? []
    : [{ type: TYPE, ...condition, ...(generation !== undefined && { observedGeneration: generation }) }]
}
