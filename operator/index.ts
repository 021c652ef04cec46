/**
 * The handler runtime: declare controllers with `controller(kind)`, run them with `operator({ controllers })`.
 * How it works: docs/runtime.md.
 */

export type { Diff, DiffOp } from '#lib/json/diff.ts'
export { collectAfterStart } from '#lib/process/collect-garbage.ts'
export { keepSmall } from '#lib/process/keep-small.ts'
export type { AdmissionOptions } from './admission/index.ts'
export type { Api } from './client/api.ts'
export { ApiError, isAlreadyExists, isConflict, isExpired, isNotFound, NetworkError } from './client/errors.ts'
export type { EventRecorder } from './client/events.ts'
export { impersonating, serviceAccountUser } from './client/impersonation.ts'
export { loadTransport, type Transport } from './client/transport.ts'
export {
  type AnyController,
  type ChangeReaction,
  type Controller,
  type ControllerOptions,
  controller,
  type HandlerOptions,
  type WatchedKind,
  type WatchOptions,
} from './controller.ts'
export type {
  AdmissionContext,
  ChangeContext,
  Context,
  DaemonContext,
  EventContext,
  Handler,
  MayWait,
  Patch,
  SourceContext,
  Wait,
  Writable,
} from './engine/context.ts'
export type { Index } from './engine/indexes.ts'
export type { ChangeProgress, HandlerProgress } from './engine/progress.ts'
export { RegistrationError } from './engine/registration.ts'
export type { OperatorSettings, SettingsInput } from './engine/settings.ts'
export type { ObjectStorage, StorageKind } from './engine/storage.ts'
export { type Clock, systemClock } from './model/clock.ts'
export type { DeclaredState } from './model/declared-state.ts'
export { type Duration, DurationError, formatDuration, parseDuration, toMilliseconds } from './model/duration.ts'
export { PermanentError, TemporaryError } from './model/errors.ts'
export { ABSENT, type Filters, type MetaFilter, PRESENT } from './model/filters.ts'
export type { Logger } from './model/log.ts'
export type { RetryPolicy } from './model/outcome.ts'
export { type DeepPartial, defineResource, type KubeObject, type ObjectMeta, type Resource } from './model/resource.ts'
export {
  type Cache,
  type LifeCycleContext,
  type Operator,
  type OperatorOptions,
  type OperatorStatus,
  operator,
  type WatchProblem,
} from './operator.ts'
