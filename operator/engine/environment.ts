import type { Api } from '../client/api.ts'
import type { EventRecorder } from '../client/events.ts'
import type { Clock } from '../model/clock.ts'
import type { Essence } from '../model/essence.ts'
import type { Logger } from '../model/log.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { Cycle } from './cycle.ts'
import type { Definition } from './definition.ts'
import type { Memory } from './memory.ts'
import type { PatchRecord } from './patch.ts'
import type { Tended } from './tended.ts'

/** What handling one controller's objects needs from outside. */
export interface Environment<O extends KubeObject = KubeObject> {
  readonly definition: Definition<O>
  /** Its requests are cut when a stop has waited long enough. */
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
  /** In [0, 1). */
  readonly random: () => number
  events(object: O): EventRecorder
  limits(policy: RetryPolicy): Limits
  readonly progress: Memory<Cycle>
  readonly handled: Memory<Essence>
  /** Sends a patch and remembers which resourceVersions it made. @returns the object as it is now; undefined when it is gone */
  write(tended: Tended<O>, object: O, patch: PatchRecord<O>): Promise<O | undefined>
}
