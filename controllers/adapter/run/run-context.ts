import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { Transports } from '../transports/transport.ts'
import type { ApiReader } from './api-reader.ts'
import type { Outbox } from './report-dedup.ts'

/** What a run works with. */
export interface Surroundings {
  readonly api: ApiReader
  readonly transports: Transports
  /** What was reported lately, so that equal reports are not sent again. */
  readonly outbox: Outbox
  /** The text of a file that tasks may read. @throws Error */
  readFile(path: string): Promise<string>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}
