import pg from 'pg'

/** A part of a plan as PostgreSQL tells it after it was executed. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  /** Of one loop, rounded. */
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly PlanNode[]
}

/** A statement, and what the server did for it. */
export interface ExecutedStatement {
  readonly text: string
  readonly plan: PlanNode
}

interface HeardPlans {
  /** What was executed since the last call. */
  take(): readonly ExecutedStatement[]
  stop(): void
}

/** Only connections that begin afterwards have them. */
const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_format': 'json',
  // What triggers and foreign keys do, too.
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_level': 'notice',
}

/**
 * From now on PostgreSQL tells of each statement on this database how it was executed, in a notice to the connection that sent it: with
 * its own parameters, and with the plan that was kept where one was. So nothing that this process sends there is left out.
 */
export const hearPlans = async (databaseUrl: string): Promise<HeardPlans> => {
  const name = new URL(databaseUrl).pathname.slice(1)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`load 'auto_explain'`)
  for (const [key, value] of Object.entries(SETTINGS))
    await client.query(`alter database ${name} set ${key} = '${value}'`)
  await client.end()
  let heard: ExecutedStatement[] = []
  const hear = ({ message }: { readonly message?: string | undefined }): void => {
    const json = message?.startsWith('duration: ') ? message.slice(message.indexOf('{')) : undefined
    if (json === undefined) return
    const { 'Query Text': text, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode }
    heard.push({ text: text.replaceAll(/\s+/g, ' ').trim(), plan })
  }
  const { connect } = pg.Client.prototype
  Object.assign(pg.Client.prototype, {
    connect(this: pg.Client, ...given: Parameters<typeof connect>) {
      if (this.database === name) this.on('notice', hear)
      return connect.apply(this, given)
    },
  })
  return {
    take: () => {
      const taken = heard
      heard = []
      return taken
    },
    stop: () => void Object.assign(pg.Client.prototype, { connect }),
  }
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** Blocks that a scan may touch beside those of its rows, and of each row: the way down an index, and the row itself. */
const BLOCKS = { constant: 40, row: 6 }
/** Entries that a block of an index has at least. */
const ENTRIES = 50

/** A condition on what is not the beginning of an index is looked up in all its entries, of which the plan tells those alone that fit. */
const untoldEntries = (node: PlanNode, rows: number): number => {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + blocksOf(one), 0)
  const blocks = blocksOf(node) - below
  return blocks > BLOCKS.constant + BLOCKS.row * rows ? blocks * ENTRIES : 0
}

const blocksOf = (node: PlanNode): number => (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0)

/** How many rows of each table, and entries of each index of a bitmap, were looked at, whether they fitted or not; a look that finds nothing is one. */
export const readsOf = ({ plan }: ExecutedStatement): ReadonlyMap<string, number> => {
  const reads = new Map<string, number>()
  for (const node of nodesOf(plan)) {
    const isIndex = node['Node Type'] === 'Bitmap Index Scan'
    const name = isIndex ? node['Index Name'] : node['Relation Name']
    if (name === undefined || node['Node Type'] === 'ModifyTable') continue
    const { 'Rows Removed by Filter': unfit = 0, 'Rows Removed by Index Recheck': others = 0 } = node
    const rows = node['Actual Loops'] * Math.max(1, node['Actual Rows'] + unfit + others)
    reads.set(name, (reads.get(name) ?? 0) + Math.max(rows, untoldEntries(node, rows)))
  }
  return reads
}

/** How many rows a statement returned or wrote. */
export const rowsOf = ({ plan }: ExecutedStatement): number =>
  nodesOf(plan)
    .filter((node) => node['Node Type'] === 'ModifyTable')
    .flatMap(({ Plans = [] }) => Plans)
    .reduce((sum, node) => sum + node['Actual Rows'] * node['Actual Loops'], plan['Actual Rows'])
