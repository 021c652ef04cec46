import { type Debugger, type Profiler, Session } from 'node:inspector/promises'

/** Where the source of the API writes statements, and which of these places were executed. */
interface Places {
  /** Those that were not executed since the beginning, `<file>: <line of the source>`. */
  stop(): Promise<readonly string[]>
}

const SERVICE = '/services/hyperfleet-api/'

/** What begins a statement, or a part of one that reads a table of its own. */
const STATEMENT =
  /\.(?:selectFrom|insertInto|updateTable|deleteFrom|innerJoin|leftJoin)\(|\bsql\)?`\s*\(?(?:select|insert|update|delete|with)\b|text: `select/g

/**
 * Counts from now on what is executed, by the engine's own coverage: a statement that is written into the source later is a place, too.
 * Of functions that were compiled before only the whole is counted.
 */
export const watchPlaces = async (): Promise<Places> => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return {
    stop: async () => {
      const { result } = await session.post('Profiler.takePreciseCoverage')
      await session.post('Profiler.stopPreciseCoverage')
      const scripts = new Map<string, string>()
      session.on('Debugger.scriptParsed', ({ params }: { readonly params: Debugger.ScriptParsedEventDataType }) => {
        if (params.url.includes(SERVICE)) scripts.set(params.scriptId, params.url)
      })
      // It tells of all that are there.
      await session.post('Debugger.enable')
      const covered = new Map(result.map((script) => [script.scriptId, script.functions]))
      const missed: string[] = []
      for (const [scriptId, url] of scripts) {
        const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId })
        const ranges = (covered.get(scriptId) ?? []).flatMap((one) => one.ranges)
        for (const { index } of scriptSource.matchAll(STATEMENT))
          if (!wasExecuted(ranges, index))
            missed.push(`${url.slice(url.indexOf(SERVICE) + SERVICE.length)}: ${lineAt(scriptSource, index)}`)
      }
      session.disconnect()
      return [...new Set(missed)].toSorted()
    },
  }
}

/** The smallest range around a place says how often it was executed. */
const wasExecuted = (ranges: readonly Profiler.CoverageRange[], at: number): boolean => {
  const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= at && at < endOffset)
  const [smallest] = around.toSorted((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))
  return smallest !== undefined && smallest.count > 0
}

/** As it is executed: with names of imports that the loader has changed. */
const lineAt = (source: string, at: number): string => {
  const begin = source.lastIndexOf('\n', at) + 1
  const end = source.indexOf('\n', at)
  return source.slice(begin, end === -1 ? undefined : end).trim()
}
