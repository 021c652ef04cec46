import { CompiledQuery } from 'kysely'
import type { DialectName, Reader } from './dialect.ts'
import type { ValueSink } from './page-buffer.ts'

/**
 * Statements that are written anew for every request, as searches are. Kysely makes a tree of each and walks it, which takes it
 * longer than a small answer takes in all; here the parts of the text are put one after the other.
 */
export class SqlText {
  readonly #texts: readonly string[]
  /** Each stands after a text: more text, or a value that becomes a parameter. */
  readonly #values: readonly unknown[]

  constructor(texts: readonly string[], values: readonly unknown[]) {
    this.#texts = texts
    this.#values = values
  }

  /** Appends the text to what is returned and the values to the list, in the order of their places. */
  write(dialect: DialectName, parameters: unknown[]): string {
    let text = this.#texts[0] ?? ''
    for (let index = 0; index < this.#values.length; index += 1) {
      const value = this.#values[index]
      if (value instanceof SqlText) text += value.write(dialect, parameters)
      else {
        parameters.push(value)
        text += dialect === 'postgres' ? `$${parameters.length}` : '?'
      }
      text += this.#texts[index + 1] ?? ''
    }
    return text
  }
}

/** What stands in the braces of the template becomes a parameter unless it is text itself. */
export const sql = (texts: readonly string[], ...values: readonly unknown[]): SqlText => new SqlText(texts, values)

/** Text as it is: never what a caller has written. */
sql.raw = (text: string): SqlText => new SqlText([text], [])
/** A table or a column, `table.column` too. */
sql.ref = (name: string): SqlText => sql.raw(name.split('.').map(quote).join('.'))
sql.number = (value: number): SqlText => sql.raw(String(value))
sql.join = (parts: readonly unknown[], separator = ', '): SqlText =>
  new SqlText(parts.length === 0 ? [''] : ['', ...Array.from({ length: parts.length - 1 }, () => separator), ''], parts)

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The statement as Kysely executes it. */
export const compileText = <Row>(dialect: DialectName, statement: SqlText): CompiledQuery<Row> => {
  const parameters: unknown[] = []
  return CompiledQuery.raw(statement.write(dialect, parameters), parameters) as CompiledQuery<Row>
}

/** Executes a statement. @returns its rows */
export const execute = async <Row>(
  { kysely, dialect }: { readonly kysely: Reader; readonly dialect: DialectName },
  statement: SqlText,
): Promise<Row[]> => (await kysely.executeQuery<Row>(compileText(dialect, statement))).rows

/** Where the rows of a statement go, by its values: they are all that the driver is given of a statement beside its text. */
const sinks = new WeakMap<readonly unknown[], ValueSink>()

/** What takes the rows of a statement that has these very values; undefined where its caller gets them. */
export const sinkOf = (values: readonly unknown[]): ValueSink | undefined => sinks.get(values)

/** Executes a statement of one column `text`. @param sink takes its values: bytes as PostgreSQL sends them, texts of SQLite */
export const executeInto = async (
  { kysely, dialect }: { readonly kysely: Reader; readonly dialect: DialectName },
  statement: SqlText,
  sink: ValueSink,
): Promise<void> => {
  const query = compileText<TextRow>(dialect, statement)
  if (dialect === 'postgres') sinks.set(query.parameters, sink)
  const { rows } = await kysely.executeQuery<TextRow>(query)
  for (const { text } of rows) sink.takeText(text)
}

interface TextRow {
  readonly text: string | null
}
