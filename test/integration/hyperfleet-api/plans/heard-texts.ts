import { DatabaseSync } from 'node:sqlite'

interface HeardTexts {
  /** What was prepared since the last call. */
  take(): readonly string[]
  /** The plan of a statement, on the database that was opened last. */
  explain(text: string): readonly string[]
  stop(): void
}

/** From now on each statement that this process has SQLite prepare is heard: there is no other way to execute one with values. */
export const hearTexts = (): HeardTexts => {
  const { prepare } = DatabaseSync.prototype
  let heard: string[] = []
  let newest: DatabaseSync | undefined
  const hear = (database: DatabaseSync, text: string) => {
    newest = database
    heard.push(text)
    return prepare.call(database, text)
  }
  Object.assign(DatabaseSync.prototype, {
    prepare(this: DatabaseSync, text: string) {
      return hear(this, text)
    },
  })
  return {
    take: () => {
      const taken = heard
      heard = []
      return taken
    },
    explain: (text) => {
      if (newest === undefined) throw new Error('no database was opened')
      // A plan does not depend on the values.
      const rows = prepare.call(newest, `explain query plan ${text}`).all() as { readonly detail: string }[]
      return rows.map(({ detail }) => detail)
    },
    stop: () => void Object.assign(DatabaseSync.prototype, { prepare }),
  }
}
