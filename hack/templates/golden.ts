/**
 * Writes what Go's text/template makes of cases.ts to lib/template/golden.json, where a test holds our
 * templates to it. Run it after a change of the cases: `node hack/run.mjs hack/templates/golden.ts` (needs Go).
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { templateCases } from './cases.ts'

const folder = import.meta.dirname
const { status, stdout, stderr } = spawnSync('go', ['run', '.'], {
  cwd: folder,
  input: JSON.stringify(templateCases),
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
})
if (status !== 0) throw new Error(`go run in ${folder} failed: ${stderr}`)

interface Result {
  readonly output?: string
  readonly error?: 'parse' | 'execute'
}
const results = JSON.parse(stdout) as Result[]
const lines = templateCases.map(({ template }, index) => {
  const { output, error } = results[index] ?? {}
  return JSON.stringify({ template, ...(error === undefined ? { output } : { error }) })
})
const [first] = templateCases
const text = `{"data":${JSON.stringify(first?.data)},\n"cases":[\n${lines.join(',\n')}\n]}\n`
writeFileSync(join(folder, '../../lib/template/golden.json'), text)
console.log(`wrote ${lines.length} cases`)
