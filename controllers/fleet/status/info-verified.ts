/**
 * Whether what a device says of itself is taken, and its Device's condition `InfoVerified`: FLEET-122 to FLEET-124. Pure.
 *
 * By labels and inventory Deployments select devices and fill in their workloads, so what opens NATS would choose what runs where.
 */
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'

const TYPE = 'InfoVerified'

/** What a device signed last, and by which key: `U…`. By another key counters begin anew. */
export interface SignedInfo {
  readonly counter: number
  readonly nkey: string
}

export interface InfoEvidence {
  /** Of the info that the store has; `NoKey` where no key of the device is known, `NotAsked` where the operator has no keys of devices. */
  readonly signature:
    | { readonly verdict: 'Signed'; readonly signed: SignedInfo }
    | { readonly verdict: 'Missing' | 'Wrong' | 'Unreadable' | 'NoKey' | 'NotAsked' }
  /** The last info of this Device that was signed; undefined when none ever was. */
  readonly last: SignedInfo | undefined
}

export interface InfoVerdict {
  /** Whether Device and Deployments go by it. */
  readonly isTaken: boolean
  /** To be remembered: an info with a lower counter is an old one. */
  readonly last: SignedInfo | undefined
  /** None where nothing is asked for. */
  readonly condition: Pick<ConditionInput, 'status' | 'reason' | 'message'> | undefined
}

export const evaluateInfo = ({ signature, last }: InfoEvidence): InfoVerdict => {
  const refused = (reason: string, message: string, advice: string): InfoVerdict => ({
    isTaken: false,
    last,
    condition: { status: 'False', reason, message: `${message}: the Device keeps what it has. ${advice}` },
  })
  switch (signature.verdict) {
    case 'NotAsked':
      return { isTaken: true, last, condition: undefined }
    case 'NoKey':
      return last === undefined
        ? { isTaken: true, last, condition: undefined }
        : refused('KeyUnknown', 'its agent signs what it says, and no public key of it is known here', DECLARE)
    case 'Unreadable':
      return refused('Unreadable', 'what stands in fleet-info can’t be read, which no agent writes', LOOK)
    case 'Wrong':
      return refused(
        'NotItsOwn',
        'what stands in fleet-info has a signature that is not of its key',
        `${DECLARE} ${LOOK}`,
      )
    case 'Missing':
      return last === undefined
        ? { isTaken: true, last, condition: { status: 'False', reason: 'NotSigned', message: UNSIGNED } }
        : refused(
            'SignatureMissing',
            'what stands in fleet-info is not signed, and its agent has signed before',
            `If it has an agent of an earlier release again, update that. ${LOOK}`,
          )
    case 'Signed': {
      const { signed } = signature
      const isOld = last !== undefined && last.nkey === signed.nkey && signed.counter < last.counter
      return isOld
        ? refused('Outdated', 'what stands in fleet-info is older than what its agent said before', REMAKE)
        : {
            isTaken: true,
            last: signed,
            condition: { status: 'True', reason: 'Signed', message: 'its agent has signed what it says' },
          }
    }
  }
}

const UNSIGNED =
  'its agent signs nothing of what it says, so what opens NATS can say it: update the agent, and give it the key by --nats-credentials'
const DECLARE = 'If the device has another key, declare that in the ConfigMap nats-devices.'
const LOOK = 'Else the key of NATS that wrote it is in wrong hands.'
const REMAKE =
  'If the device lost its state while its clock was wrong, start its agent again, or delete the Device, which is then made anew; else the key of NATS that wrote it is in wrong hands.'

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
