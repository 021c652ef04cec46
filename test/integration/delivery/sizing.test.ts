/** GITOPS-47: what the sizing page says of memory is what production has. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import { REPOSITORY } from '../docs/page.ts'
import { kubectl } from './kustomize.ts'

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: { readonly template: { readonly spec: Readonly<Record<string, readonly Container[] | undefined>> } }
}

interface Container {
  readonly name: string
  readonly resources: { readonly limits: { readonly memory: string } }
}

/** `name of the workload/name of the container` with its limit, such as 256 MiB; Sentinels have one name. */
const delivered = async (): Promise<ReadonlyMap<string, string>> => {
  const { stdout } = await kubectl('kustomize', 'kustomize/overlays/prod')
  const workloads = (loadAll(stdout) as Workload[]).filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
  return new Map(
    workloads.flatMap(({ metadata: { name, labels }, spec }) => {
      const isSentinel = labels?.['app.kubernetes.io/name'] === 'hyperfleet-sentinel'
      const { containers = [], initContainers = [] } = spec.template.spec
      return [...containers, ...initContainers].map(
        (container) =>
          [
            isSentinel ? 'a Sentinel' : name === 'nats' ? `${name}/${container.name}` : name,
            container.resources.limits.memory.replace(/^(\d+)Mi$/, '$1 MiB'),
          ] as const,
      )
    }),
  )
}

/** As the table says it. */
const said = (text: string): ReadonlyMap<string, string> => {
  const rows = [...text.matchAll(/^\| ([^|]+) \| (\d+ MiB)([^|]*) \|/gm)]
  return new Map(
    rows.flatMap(([, names = '', limit = '', more = '']) => {
      if (names !== 'NATS') return names.split(', ').map((name) => [name.replaceAll('`', ''), limit] as const)
      const beside = /and (\d+ MiB) for `muster nats`/.exec(more)?.[1] ?? ''
      return [['nats/nats', limit] as const, ['nats/users', beside] as const]
    }),
  )
}

test('GITOPS-47: the memory that the sizing page names is the limit of each workload of production, and none is left out', async () => {
  const text = await readFile(join(REPOSITORY, 'docs/sizing.md'), 'utf8')
  const [, table = ''] = text.split('## What is delivered\n')
  const byName = (all: ReadonlyMap<string, string>) => [...all].toSorted(([one], [other]) => (one < other ? -1 : 1))
  expect(byName(said(table.split('\n## ')[0] ?? ''))).toEqual(byName(await delivered()))
})
