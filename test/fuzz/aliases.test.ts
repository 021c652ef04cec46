/** YAML whose aliases make much of little, read with the heap of a manager. SECURITY-14. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { TARGETS } from './targets/index.ts'

vi.setConfig({ testTimeout: 120_000 })

/** Of the managers, as kustomize/pools has it. */
const HEAP_MB = 128

const YAML = ['install-configs', 'kubeconfigs', 'tasks', 'api-config']
const readers = TARGETS.flatMap(({ corpus, from, file }, at) =>
  from === undefined && YAML.includes(corpus) ? [{ file, at }] : [],
)

const listOf = (count: number, item: string) => `[${Array.from({ length: count }, () => item).join(',')}]`
const mapOf = (count: number) => `{${Array.from({ length: count }, (_, at) => `k${at}: 1`).join(',')}}`
const doubled = (levels: number) =>
  Array.from({ length: levels }, (_, at) => `l${at + 1}: &l${at + 1} ${listOf(9, `*l${at}`)}`).join('\n')

const INPUTS: Readonly<Record<string, string>> = {
  'a long list, again and again': `a: &a ${listOf(6_000, '1')}\nb: ${listOf(4_000, '*a')}\n`,
  'a large map, again and again': `a: &a ${mapOf(6_000)}\nclusters: ${listOf(6_000, '{cluster: *a}')}\nresources: ${listOf(4_000, '*a')}\n`,
  'lists of lists of lists': `l0: &l0 ${listOf(9, 'x')}\n${doubled(12)}\nresources: [{name: a, manifest: *l12}]\n`,
  'what holds itself twice':
    'a: &a [*a, *a]\nclusters: &c [{cluster: *c}, *c]\nresources: &r [{name: a, manifest: *r}]\n',
}

test.each(readers)('SECURITY-14: $file reads or refuses them with the heap of a manager', ({ at }) => {
  const args = [`--max-old-space-size=${HEAP_MB}`, join(import.meta.dirname, 'read-all.ts'), String(at)]
  const { status, stdout } = spawnSync(process.execPath, args, { input: JSON.stringify(INPUTS), encoding: 'utf8' })
  expect({ status, read: stdout.trim().split('\n') }).toEqual({ status: 0, read: Object.keys(INPUTS) })
})
