import { parseUidRange } from '#cmd/agent/values.ts'
import { ConfigError } from '#services/hyperfleet-api/config/config-error.ts'
import { parseYaml } from '#services/hyperfleet-api/config/yaml.ts'
import { parseReceipt } from '#services/hyperfleet-api/events/deliveries.ts'
import { readOrder, readSelector } from '#services/hyperfleet-api/http/list-parameters.ts'
import { parseFields, project } from '#services/hyperfleet-api/model/projection.ts'
import { parseTimestamp } from '#services/hyperfleet-api/model/timestamp.ts'
import { Problem } from '#services/hyperfleet-api/problems/problem.ts'
import { parseOperand } from '#services/hyperfleet-api/search/operand.ts'
import { parseSearch } from '#services/hyperfleet-api/search/parse-search.ts'
import { compileRowsByCreation } from '#services/hyperfleet-api/storage/compile-filter.ts'
import { compileText, sql } from '#services/hyperfleet-api/storage/sql-text.ts'
import { formatTraceparent, parseTraceparent } from '#services/hyperfleet-api/tracing/traceparent.ts'
import { ofTexts } from '../target.ts'
import { sameAgain } from './same-again.ts'

const PARAMETERS = { corpus: 'api-parameters', refuses: [Problem] }

/** What callers of the HyperFleet API send, and its configuration. */
export const SERVICES = [
  ofTexts({
    file: 'services/hyperfleet-api/search/parse-search.ts',
    reads: ['parseSearch'],
    corpus: 'searches',
    refuses: [Problem],
    read(text) {
      const search = parseSearch(text)
      for (const dialect of ['postgres', 'sqlite'] as const) {
        const { from, where } = compileRowsByCreation(dialect, { kind: 'Cluster' as never, search })
        const { sql: written } = compileText(dialect, sql`select 1 from ${from} where ${where}`)
        // Values are parameters: what a caller writes is never part of a statement.
        if (written.includes("'") && /'[^']*(?:berlin|--|;)/.test(written))
          throw new TypeError(`a value is in the statement: ${written}`)
      }
    },
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/search/operand.ts',
    reads: ['parseOperand'],
    read: (text) => void parseOperand(text),
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/http/list-parameters.ts',
    reads: ['readOrder'],
    read: (text) => void readOrder(text),
  }),
  ofTexts({
    file: 'services/hyperfleet-api/http/list-parameters.ts',
    reads: ['readSelector'],
    corpus: 'selectors',
    refuses: [Problem],
    read: (text) => void readSelector(text),
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/model/projection.ts',
    reads: ['parseFields'],
    read(text) {
      const fields = parseFields(text)
      if (fields !== undefined) project({ id: 'c', labels: { 'x.y': 'z' }, spec: { a: [{ b: 1 }] } }, fields)
    },
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/model/timestamp.ts',
    reads: ['parseTimestamp'],
    refuses: [],
    read(text) {
      const read = parseTimestamp(text)
      if (read !== undefined) sameAgain(parseTimestamp(read), read)
    },
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/tracing/traceparent.ts',
    reads: ['parseTraceparent'],
    refuses: [],
    read(text) {
      const read = parseTraceparent(text)
      if (read !== undefined) sameAgain(parseTraceparent(formatTraceparent(read)), read)
    },
  }),
  ofTexts({
    ...PARAMETERS,
    file: 'services/hyperfleet-api/events/deliveries.ts',
    reads: ['parseReceipt'],
    read: (text) => void parseReceipt(text),
  }),
  ofTexts({
    file: 'services/hyperfleet-api/config/yaml.ts',
    reads: ['parseYaml'],
    corpus: 'api-config',
    refuses: [ConfigError],
    read: (text) => void parseYaml(text),
  }),
  ofTexts({
    file: 'cmd/agent/values.ts',
    reads: ['parseUidRange'],
    corpus: 'flags',
    refuses: [Error],
    read: (text) => void parseUidRange(text),
  }),
]
