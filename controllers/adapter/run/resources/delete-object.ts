/** Deletes one object, unless another resource of the task, or another task, has it too. ADAPTER-86, ADAPTER-88. */
import type { PropagationPolicy } from '../../task/task.ts'
import type { DeletionOutcome } from '../../transports/transport.ts'
import type { RunContext } from '../run-context.ts'
import { TaskError } from '../task-error.ts'
import type { LocatedObject } from './deletion-unit.ts'
import { describeObject, isTerminating, metadataOf } from './object.ts'

/** How often an object is looked at anew that others write while it is to be deleted. */
export const MAX_ATTEMPTS = 10

/**
 * What others have of it is read of one state of the object, and it is deleted in that state or looked at again.
 * @throws TaskError, or the signal's reason
 */
export const deleteObject = async (
  { key, object: seen, lookup }: LocatedObject,
  policy: PropagationPolicy,
  { transports, inventory, leave, signal }: Pick<RunContext, 'transports' | 'inventory' | 'leave' | 'signal'>,
): Promise<Exclude<DeletionOutcome, 'changed'>> => {
  const transport = transports[lookup.transport.kind]
  let object = seen
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const isShared = inventory.entries.get(key)?.share !== undefined || transport.isShared?.(object) === true
    if (isShared) await inventory.announceLeaving(key, signal)
    if (await leave?.(key, object)) return 'left'
    const outcome = await transport.delete(lookup, object, policy, signal, isShared)
    if (outcome !== 'changed') return outcome
    const { uid } = metadataOf(object)
    const found = (await transport.find(lookup, signal)).find((one) => metadataOf(one).uid === uid)
    if (found === undefined || isTerminating(found)) return 'asked'
    object = found
  }
  throw new TaskError('DeleteFailed', `${describeObject(object)} can't be deleted: others write it all the time`)
}
