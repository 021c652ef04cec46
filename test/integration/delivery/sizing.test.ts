/** GITOPS-47, GITOPS-51: what the sizing page says of memory is what production has, and it is enough. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { beforeAll, expect, test } from 'vitest'
import { deployedMemory, programs } from '#test/bench/deployed.ts'
import { REPOSITORY } from '../docs/page.ts'
import { kubectl } from './kustomize.ts'

interface Workload {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly spec: { readonly template: { readonly spec: Readonly<Record<string, readonly Container[] | undefined>> } }
}

interface Container {
  readonly name: string
  readonly resources: { readonly requests: { readonly memory: string }; readonly limits: { readonly memory: string } }
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
}

/** Of one container, in MiB. */
interface Memory {
  readonly limit: number
  /** Of V8, its old part; none of nats-server. */
  readonly heap: number | undefined
}

interface Delivered extends Memory {
  readonly container: Container
  readonly workload: string
}

const mebibytes = (text: string): number => Number(/^(\d+)Mi$/.exec(text)?.[1])

const flag = ({ env = [] }: Container, name: string): number | undefined => {
  const options = env.find((one) => one.name === 'NODE_OPTIONS')?.value
  return options === undefined ? undefined : Number(new RegExp(`--${name}=(\\d+)(?: |$)`).exec(options)?.[1])
}

/** Sentinels have one name, and NATS is two programs. */
const nameOf = ({ metadata: { name, labels } }: Workload, container: Container): string => {
  if (labels?.['app.kubernetes.io/name'] === 'hyperfleet-sentinel') return 'a Sentinel'
  return name === 'nats' ? `nats: ${container.name === 'users' ? 'muster nats' : 'nats-server'}` : name
}

const build = async (folder: string): Promise<readonly Delivered[]> => {
  const { stdout } = await kubectl('kustomize', `kustomize/${folder}`)
  const workloads = (loadAll(stdout) as Workload[]).filter(({ kind }) => ['Deployment', 'StatefulSet'].includes(kind))
  return workloads.flatMap((workload) => {
    const { containers = [], initContainers = [] } = workload.spec.template.spec
    return [...containers, ...initContainers].map((container) => ({
      container,
      workload: nameOf(workload, container),
      limit: mebibytes(container.resources.limits.memory),
      heap: flag(container, 'max-old-space-size'),
    }))
  })
}

const PRODUCTION = 'overlays/prod'
const FOLDERS = [PRODUCTION, 'overlays/stage', 'overlays/member', 'overlays/dev', 'install']

const builds = new Map<string, Promise<readonly Delivered[]>>()

/** Every container that a folder gives. */
const deliveredBy = (folder: string): Promise<readonly Delivered[]> => {
  const built = builds.get(folder) ?? build(folder)
  builds.set(folder, built)
  return built
}

interface Said extends Memory {
  /** The highest that was measured; undefined where nothing was. */
  readonly peak: number | undefined
}

const ROW = /^\| ([^|]+) \| (\d+) MiB \| (?:(\d+) MiB|–) \| (?:(\d+) MiB|–) \|/gm

/** As the table of the page says it. */
const said = (text: string): ReadonlyMap<string, Said> => {
  const [, table = ''] = text.split('## What is delivered\n')
  const number = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
  return new Map(
    [...(table.split('\n## ')[0] ?? '').matchAll(ROW)].flatMap(([, names = '', limit, heap, peak]) =>
      names
        .split(', ')
        .map(
          (name) =>
            [name.replaceAll('`', ''), { limit: Number(limit), heap: number(heap), peak: number(peak) }] as const,
        ),
    ),
  )
}

let production: readonly Delivered[]
let page: ReadonlyMap<string, Said>

beforeAll(async () => {
  production = await deliveredBy(PRODUCTION)
  page = said(await readFile(join(REPOSITORY, 'docs/sizing.md'), 'utf8'))
})

test('GITOPS-47: the memory that the sizing page names is the limit of each container of production, and what its V8 may take, and none is left out', () => {
  const byName = <T>(all: Iterable<readonly [string, T]>) =>
    Object.fromEntries([...all].toSorted(([a], [b]) => a.localeCompare(b)))
  const named = byName([...page].map(([name, { limit, heap }]) => [name, { limit, heap }] as const))
  expect(named).toEqual(byName(production.map(({ workload, limit, heap }) => [workload, { limit, heap }] as const)))
})

/** Of Node.js's program, its threads and the buffers of its connections: what a process takes beside V8's heap. */
const BESIDE_HEAP = 64

/** V8 has three semi-spaces at most. */
const SEMI_SPACES = 3

test.each(FOLDERS)(
  'GITOPS-51: each container of %s has room for V8’s heap when that is full, so that it is ended by no kernel',
  async (folder) => {
    const ours = (await deliveredBy(folder)).filter(({ heap }) => heap !== undefined)
    expect(ours).not.toEqual([])
    for (const { workload, container, limit, heap = 0 } of ours) {
      const young = SEMI_SPACES * (flag(container, 'max-semi-space-size') ?? Number.NaN)
      expect({ workload, needs: heap + young + BESIDE_HEAP <= limit }).toEqual({ workload, needs: true })
    }
  },
)

test('GITOPS-51: a limit is a quarter above the highest peak that was measured, and more than what is asked for', () => {
  for (const [name, { limit, peak = 0 }] of page) {
    expect({ name, isEnough: limit >= 1.25 * peak }).toEqual({ name, isEnough: true })
  }
  for (const { workload, limit, container } of production) {
    const asked = mebibytes(container.resources.requests.memory)
    expect({ workload, isMore: limit >= asked }).toEqual({ workload, isMore: true })
  }
})

/** Whose memory the rows of a bench are. Of the API on its embedded database a test below the limit tells: its table is from before the API took less. */
const BENCHES: Readonly<Record<string, string>> = {
  api: 'hyperfleet-api',
  sentinel: 'a Sentinel',
  'sentinel-polling': 'a Sentinel',
  adapter: 'hyperfleet-adapter',
  pool: 'hyperfleet-clusterpool',
  fleet: 'fleet-operator',
}

test('GITOPS-51: no bench has measured more than the page says', async () => {
  const benchmarks = await readFile(join(REPOSITORY, 'docs/benchmarks.md'), 'utf8')
  for (const [bench, workload] of Object.entries(BENCHES)) {
    const [, block = ''] = new RegExp(`<!-- bench:${bench} -->([^]*?)<!-- /bench -->`).exec(benchmarks) ?? []
    const measured = [...block.matchAll(/^\| [^|]*\bRSS\b[^|]*\| ([\d.]+) \| MiB \|/gm)].map(([, value]) =>
      Number(value),
    )
    expect(measured).not.toEqual([])
    const { peak = 0 } = page.get(workload) ?? {}
    expect({ bench, peak: Math.max(peak, ...measured) }).toEqual({ bench, peak })
  }
})

test('GITOPS-51: benches, and tests below the limits, run with what every overlay has', async () => {
  const read = programs.map((program) => deployedMemory(program))
  for (const folder of FOLDERS)
    for (const { workload, container, limit, heap } of await deliveredBy(folder)) {
      if (heap === undefined || container.name === 'clusterdevice') continue
      const settings = (container.env ?? []).filter(({ name }) => /^(NODE_OPTIONS|MALLOC_)/.test(name))
      const env = Object.fromEntries(settings.map(({ name, value }) => [name, value]))
      expect({ workload, read }).toEqual({
        workload,
        read: expect.arrayContaining([{ container: container.name, limit: limit * 2 ** 20, env }]),
      })
    }
})
