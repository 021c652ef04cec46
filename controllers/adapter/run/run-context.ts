import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { ResourceTransports } from '../transports/transport.ts'
import type { ApiReader } from './api-reader.ts'
import type { ReportDedup } from './report-dedup.ts'

/** What a run works with. */
export interface RunContext {
  readonly api: ApiReader
  readonly transports: ResourceTransports
  /** What was reported lately, so that equal reports are not sent again. */
  readonly reportDedup: ReportDedup
  /** The text of a file that tasks may read. @throws Error */
  readFile(path: string): Promise<string>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}
