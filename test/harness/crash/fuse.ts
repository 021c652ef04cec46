/**
 * Counts the statements of one mutation and says at which of them the process dies. A process that has died after N
 * statements has left exactly their effect in the database, so going through every N goes through every crash there is.
 */
export interface Fuse {
  /** What becomes of the process at this statement: it dies before the database sees it, or as soon as it is done. */
  at(session: unknown, sql: string): 'lives' | 'dies before' | 'dies after'
}

export interface FuseSettings {
  /** How many statements the database still does; 0 lets it do none. */
  readonly after: number
  /** First statements of what a process does by itself, such as polling: neither they nor their transactions count. */
  readonly background: RegExp
  /** Told of every statement that counts. */
  readonly counted: (sql: string) => void
}

const BEGIN = /^(begin|start transaction)\b/i
const END = /^(commit|rollback)\b/i

export const lightFuse = ({ after, background, counted }: FuseSettings): Fuse => {
  /** Sessions in a transaction, by whose it is; `begin` alone does not tell, and has no effect either. */
  const transactions = new Map<unknown, 'unknown' | 'mutation' | 'background'>()
  let count = 0
  return {
    at: (session, sql) => {
      if (BEGIN.test(sql)) {
        transactions.set(session, 'unknown')
        return 'lives'
      }
      const before = transactions.get(session)
      const whose =
        before === 'mutation' || before === 'background' ? before : background.test(sql) ? 'background' : 'mutation'
      if (END.test(sql)) transactions.delete(session)
      else if (before !== undefined) transactions.set(session, whose)
      if (whose === 'background') return 'lives'
      if (after === 0) return 'dies before'
      counted(sql)
      count += 1
      return count === after ? 'dies after' : 'lives'
    },
  }
}
