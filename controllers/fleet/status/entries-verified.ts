/** The condition `EntriesVerified` of a Device: whether it takes only what the operator has signed. FLEET-105, FLEET-117. Pure. */
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { type Condition, type ConditionInput, findCondition } from '#operator/model/conditions.ts'

const TYPE = 'EntriesVerified'
/** So many ids of keys are named: a device may say any number. */
const MAX_NAMED = 5

export interface VerificationInput {
  /** The ids of the keys that sign; none where nothing is signed. */
  readonly signing: readonly string[]
  /** Undefined when the agent has said nothing. */
  readonly info: Pick<Info, 'publicKeys'> | undefined
  readonly before: readonly Condition[] | undefined
  readonly generation: number | undefined
}

type Verification = Pick<ConditionInput, 'status' | 'reason' | 'message'>

/** None where nothing is signed, unless the Device has the condition: then it becomes Unknown. */
export const verificationConditions = (input: VerificationInput): readonly ConditionInput[] => {
  const verification = explain(input)
  const { generation } = input
  return verification === undefined
    ? []
    : [{ type: TYPE, ...verification, ...(generation !== undefined && { observedGeneration: generation }) }]
}

/** An agent takes entries that one of its keys has signed, so one that is in both is enough. */
export const knowsKey = (signing: readonly string[], { publicKeys = [] }: Pick<Info, 'publicKeys'>): boolean =>
  signing.some((id) => publicKeys.includes(id))

const explain = ({ signing, info, before }: VerificationInput): Verification | undefined => {
  if (signing.length === 0)
    return findCondition(before, TYPE) === undefined
      ? undefined
      : { status: 'Unknown', reason: 'NotSigned', message: 'the operator signs nothing: give it --fleet-signing-keys' }
  if (info === undefined) return undefined
  const { publicKeys } = info
  if (publicKeys === undefined)
    return {
      status: 'False',
      reason: 'NoPublicKeys',
      message: `its agent takes every entry, so what opens NATS puts programs on it. ${ADVICE}`,
    }
  if (!knowsKey(signing, info))
    return {
      status: 'False',
      reason: 'KeyUnknown',
      message: `its agent knows ${named(publicKeys)}, and entries are signed by ${named(signing)}: it goes on with what it has, and takes nothing new. ${ADVICE}`,
    }
  const others = publicKeys.filter((id) => !signing.includes(id))
  if (others.length > 0)
    return {
      status: 'False',
      reason: 'OtherKeys',
      message: `its agent also takes what ${named(others)} has signed, with which nothing is signed here: a former key that was stolen puts programs on it. ${ADVICE}`,
    }
  const missing = signing.filter((id) => !publicKeys.includes(id))
  if (missing.length > 0)
    return {
      status: 'True',
      reason: 'KeyMissing',
      message: `its agent does not know ${named(missing)} yet, which signs entries too. ${ADVICE}`,
    }
  return { status: 'True', reason: 'KeyKnown', message: `its agent takes what ${named(signing)} has signed` }
}

const ADVICE = 'Give its agent the public keys of the ConfigMap fleet-signing, by --fleet-public-keys'

const named = (ids: readonly string[]): string => {
  const known = ids.filter((id) => /^[0-9a-f]{16}$/.test(id))
  const more = ids.length > MAX_NAMED ? ' and more' : ''
  return known.length === 0 ? 'no key' : `${known.slice(0, MAX_NAMED).join(', ')}${more}`
}
