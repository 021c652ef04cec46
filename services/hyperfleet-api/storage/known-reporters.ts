import type { Reader } from './dialect.ts'
import { hasReportedOnKind } from './statuses.ts'

/** Which adapters have a report about any resource of a kind. A no reads the whole kind, so all that ask meanwhile wait for one look. */
export interface KnownReporters {
  hasReported(reader: Reader, kind: string, adapter: string): Promise<boolean>
}

/** As many as the configuration has kinds with required adapters. */
export const createKnownReporters = (): KnownReporters => {
  /** Looks under way, and those that found one. */
  const looks = new Map<string, Promise<boolean>>()
  const look = async (reader: Reader, kind: string, adapter: string, key: string): Promise<boolean> => {
    let found = false
    try {
      found = await hasReportedOnKind(reader, kind, adapter)
    } finally {
      if (!found) looks.delete(key)
    }
    return found
  }
  return {
    hasReported: (reader, kind, adapter) => {
      const key = `${kind} ${adapter}`
      const known = looks.get(key) ?? look(reader, kind, adapter, key)
      looks.set(key, known)
      return known
    },
  }
}
