import type { Api } from '../client/api.ts'
import type { EventRecorder } from '../client/events.ts'
import type { Clock } from '../model/clock.ts'
import type { DeclaredState } from '../model/declared-state.ts'
import type { Logger } from '../model/log.ts'
import type { Limits, RetryPolicy } from '../model/outcome.ts'
import type { KubeObject } from '../model/resource.ts'
import type { Definition } from './definition.ts'
import type { ObjectState } from './object-state.ts'
import type { PatchRecord } from './patch.ts'
import type { ChangeProgress } from './progress.ts'
import type { ObjectStorage } from './storage.ts'

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
  readonly progress: ObjectStorage<ChangeProgress>
  readonly handled: ObjectStorage<DeclaredState>
  /** Sends a patch, over another Api where one is given, and remembers which resourceVersions it made. @returns the object as it is now; undefined when it is gone */
  write(state: ObjectState<O>, object: O, patch: PatchRecord<O>, api?: Api): Promise<O | undefined>
}
