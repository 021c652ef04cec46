import { ConfigError } from '#services/hyperfleet-api/config/config-error.ts'
import { readConfig } from '#services/hyperfleet-api/config/read.ts'
import {
  builtinEntities,
  conditionCompiler,
  defineEntities,
  type Entities,
} from '#services/hyperfleet-api/model/entity.ts'
import { openTarget, type TargetPlace } from '#services/hyperfleet-api/takeover/open-target.ts'
import { formatSessions } from '#services/hyperfleet-api/takeover/sessions.ts'
import { openSource } from '#services/hyperfleet-api/takeover/source.ts'
import { takeOver } from '#services/hyperfleet-api/takeover/take-over.ts'
import { explainDatabase, explainFile } from '../api/explain.ts'
import { Failure, UsageError } from '../failure.ts'
import { summarizeTakeover } from './takeover-summary.ts'

export interface MigrateHyperfleetOptions {
  readonly from: string
  readonly to: TargetPlace
  readonly config: string | undefined
  readonly fromInUse: boolean
  readonly dryRun: boolean
}

/**
 * Takes over the database of a Go service and prints what became of each record (API-130 to API-135).
 * @returns whether every record is in the target, or was deleted there since
 * @throws Failure, UsageError
 */
export const migrateHyperfleet = async (
  { from, to, config, fromInUse, dryRun }: MigrateHyperfleetOptions,
  print: (text: string) => void,
): Promise<boolean> => {
  if ('databaseUrl' in to && placeOf(to.databaseUrl) === placeOf(from))
    throw new UsageError(
      '--to: it is the database of --from, and the tables of both have the same names: name another one',
    )
  const entities = await readEntities(config)
  const source = await openSource(from).catch((error: unknown) => {
    throw explainDatabase('--from', from, error)
  })
  try {
    if (source.sessions.length > 0 && !fromInUse)
      throw new Failure(
        `--from: other programs are connected to it (${formatSessions(source.sessions)}): stop the Go service; if none of them writes, write --from-in-use`,
      )
    const target = await openTarget(to, dryRun).catch((error: unknown) => {
      throw 'databaseUrl' in to ? explainDatabase('--to', to.databaseUrl, error) : error
    })
    try {
      const summary = summarizeTakeover(dryRun)
      for await (const record of takeOver(source, target, entities)) summary.add(record)
      print(summary.format(source.strayReports))
      return summary.isWhole()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/** Host, port and database. */
const placeOf = (url: string): string => {
  const { hostname, port, pathname } = new URL(url)
  return `${hostname}:${port || '5432'}${pathname}`
}

const readEntities = async (config: string | undefined): Promise<Entities> => {
  try {
    const kinds = config === undefined ? builtinEntities : ((await readConfig(config)).entities ?? builtinEntities)
    return defineEntities(kinds, await conditionCompiler(kinds))
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(`--config: ${config}: ${error.message}`, { cause: error })
    throw explainFile('--config', config ?? '', error)
  }
}
