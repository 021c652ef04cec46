/**
 * npm run bench -- [NAME…] [--size SHARE] [--json FILE] [--write-docs]
 *
 * Runs benches one after the other (no name: all) and prints each one's table on standard output, progress on standard
 * error. A missed target is marked in the table and is no failure; a bench that could not run is.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import { nearest } from '#lib/text/nearest.ts'
import { asError } from '#operator/model/outcome.ts'
import { catalogue } from './catalogue.ts'
import type { Bench } from './definition.ts'
import { machine } from './measure/machine.ts'
import { withBlock } from './report/document.ts'
import { type BenchReport, jsonReport, markdownReport, textReport } from './report/report.ts'
import { toRow } from './report/row.ts'

const DOCUMENT = join(import.meta.dirname, '../../docs/benchmarks.md')

const say = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`)

const runBench = async (bench: Bench, size: number): Promise<BenchReport> => {
  say(`${bench.name}: ${bench.summary}`)
  const before = machine()
  const notes: string[] = []
  const note = (text: string): void => {
    say(text)
    if (!notes.includes(text)) notes.push(text)
  }
  const sized = (count: number): number => {
    if (size !== 1) note(`--size ${size}: ${sizeOf(count, size)} instead of ${count}.`)
    return sizeOf(count, size)
  }
  const figures = await bench.run({ say, note, sized })
  const date = new Date().toISOString()
  return { bench: bench.name, summary: bench.summary, date, machine: before, rows: figures.map(toRow), notes }
}

const writeDocument = async (report: BenchReport): Promise<void> => {
  await writeFile(DOCUMENT, withBlock(await readFile(DOCUMENT, 'utf8'), report.bench, markdownReport(report)))
}

/** The one of the name, else all whose names begin with it: `scale` is `scale-api`, `scale-fleet` and so on. */
const benchesOf = (name: string): readonly Bench[] => {
  const exact = catalogue.filter((candidate) => candidate.name === name)
  const group = catalogue.filter((candidate) => candidate.name.startsWith(`${name}-`))
  if (exact.length + group.length > 0) return exact.length > 0 ? exact : group
  const names = catalogue.map((candidate) => candidate.name)
  const close = nearest(name, names)
  const instead = close === undefined ? `one of ${names.join(', ')}` : `"${close}" (--list shows all)`
  console.error(`no bench is called "${name}": write ${instead}`)
  process.exit(2)
}

const sizeOf = (count: number, size: number): number => Math.max(1, Math.round(count * size))

/** @throws InvalidArgumentError */
const parseSize = (text: string): number => {
  const size = Number(text)
  if (!(size > 0 && size <= 1)) throw new InvalidArgumentError('a share above 0, at most 1, such as 0.05')
  return size
}

interface Options {
  readonly size: number
  readonly json?: string
  readonly writeDocs?: boolean
  readonly list?: boolean
}

const command = new Command('npm run bench --')
  .description('Measures what docs/benchmarks.md promises, beside comparable programs in the same run.')
  .argument('[names...]', 'benches to run, or the beginning of their names (scale); all when none is named')
  .option(
    '--size <share>',
    'how much of what each bench of the API is about there is, for a small machine',
    parseSize,
    1,
  )
  .option('--json <file>', 'also write the rows of all benches to a file')
  .option('--write-docs', 'also update the tables of docs/benchmarks.md')
  .option('--list', 'print the benches and what each measures')
  .showSuggestionAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .parse()

const { json, writeDocs, list, size } = command.opts<Options>()
if (list) {
  for (const { name, summary } of catalogue) console.log(`${name.padEnd(20)} ${summary}`)
  process.exit(0)
}
const chosen = command.args.length === 0 ? catalogue : command.args.flatMap(benchesOf)

const reports: BenchReport[] = []
for (const bench of chosen) {
  try {
    const report = await runBench(bench, size)
    reports.push(report)
    console.log(`${textReport(report)}\n`)
    if (writeDocs) await writeDocument(report)
  } catch (error) {
    console.error(`${bench.name} could not run: ${asError(error).message}`)
    process.exitCode = 1
  }
  if (json !== undefined) await writeFile(json, jsonReport(reports))
}
process.exit()
