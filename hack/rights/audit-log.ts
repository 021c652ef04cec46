import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Call, callsOf } from './call.ts'

/** The calls that audit logs tell of, each once. */
export const readCalls = async (logs: readonly string[]): Promise<readonly Call[]> => {
  const calls = new Map<string, Call>()
  for (const log of logs)
    for await (const line of createInterface({ input: createReadStream(log) }))
      for (const call of wholeCallsOf(line)) calls.set(JSON.stringify(call), call)
  return [...calls.values()]
}

/** An API server that was killed may have left half a line. */
const wholeCallsOf = (line: string): readonly Call[] => {
  try {
    return callsOf(line)
  } catch (error) {
    if (error instanceof SyntaxError) return []
    throw error
  }
}
