import { basename } from 'node:path'
import { dump, loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { kubectl, kustomizations } from '../kustomize.ts'
import { requiredIsDone } from './adapters.ts'
import type { Manifest } from './manifest.ts'

const build = async (folder: string): Promise<readonly Manifest[]> =>
  loadAll((await kubectl('kustomize', folder)).stdout) as Manifest[]

const overlays = kustomizations().filter((folder) => folder.startsWith('kustomize/overlays/'))

// GITOPS-22
describe('required_adapters', () => {
  test.each(overlays)('of %s are those that tasks of its environment do', async (overlay) => {
    const tasks = kustomizations().filter((folder) => folder.startsWith(`kustomize/tasks/${basename(overlay)}/`))
    const objects = (await Promise.all([overlay, ...tasks].map(build))).flat()
    expect(requiredIsDone(objects)).toEqual([])
  })

  // Journey 3: the first adapter that reports must not make a cluster Ready where it matters.
  test.each(['stage', 'prod'])('of %s are named or undecided, never whatever reports first', async (overlay) => {
    const found = (await build(`kustomize/overlays/${overlay}`)).filter(({ metadata }) =>
      metadata.name.startsWith('hyperfleet-kinds'),
    ) as unknown as readonly (Manifest & { readonly data: { readonly 'kinds.yaml': string } })[]
    const texts = found.map(({ data }) => data['kinds.yaml'])
    expect(texts.join('').match(/required_adapters: .*/g)).toEqual([
      expect.stringMatching(/undecided|\[.+\]/),
      expect.stringMatching(/undecided|\[.+\]/),
    ])
  })

  test('without kinds, or with kinds that the API does not read, are told', () => {
    expect(requiredIsDone([API])).toMatchInlineSnapshot(`
      [
        "ConfigMap/hyperfleet-kinds: add components/kinds and a kinds.yaml that says which adapters each kind requires",
      ]
    `)
    expect(requiredIsDone([kinds('reporting')])).toMatchInlineSnapshot(`
      [
        "ConfigMap/hyperfleet-kinds-1: add components/kinds, so that the API reads it",
      ]
    `)
  })

  test('are the hub’s: an overlay without an API, whatever its name, has tasks alone', () => {
    expect(requiredIsDone([MANAGER, task('dns')])).toEqual([])
  })

  test('that no task does, and tasks that are not required, are told with what to write', () => {
    expect(problems(['dns', 'gone'], [task('dns'), task('net')])).toMatchInlineSnapshot(`
      [
        "ConfigMap/hyperfleet-kinds-1: Cluster requires gone: add its task, or give its manager --adapters-elsewhere",
        "AdapterTask/net: add net to required_adapters of Cluster, or say muster.dev/not-required",
      ]
    `)
    expect(problems('undecided', [task('dns')])).toEqual(problems('reporting', [task('dns')]))
    expect(problems('reporting', [task('dns'), task('net')])).toMatchInlineSnapshot(`
      [
        "ConfigMap/hyperfleet-kinds-1: Cluster: write required_adapters: [dns, net]",
      ]
    `)
    expect(problems([], [task('dns', {}, 'machines')])).toMatchInlineSnapshot(`
      [
        "AdapterTask/dns: kinds.yaml has no machines",
      ]
    `)
  })

  test('may differ where that is said', () => {
    const optional = task('net', { 'muster.dev/not-required': 'it only counts' })
    expect(problems(['dns'], [task('dns'), optional])).toEqual([])
    expect(problems('reporting', [optional])).toEqual([])
    expect(problems('undecided', [])).toEqual([])
    expect(requiredIsDone([kinds(['dns', 'gone']), API, MANAGER, task('dns')])).toEqual([])
  })
})

const kinds = (required: 'reporting' | 'undecided' | readonly string[]): Manifest & { readonly data: object } => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'hyperfleet-kinds-1' },
  data: { 'kinds.yaml': dump({ entities: [{ kind: 'Cluster', plural: 'clusters', required_adapters: required }] }) },
})

const API: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'hyperfleet-api' },
  spec: { template: { spec: { volumes: [{ configMap: { name: 'hyperfleet-kinds-1' } }] } } },
}

const MANAGER: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'hyperfleet-adapter' },
  spec: { template: { spec: { containers: [{ args: ['--adapters-elsewhere=gone,other'] }] } } },
}

const task = (adapter: string, annotations = {}, resourceType = 'clusters'): Manifest => ({
  apiVersion: 'hyperfleet.redhat.com/v1alpha1',
  kind: 'AdapterTask',
  metadata: { name: adapter, annotations },
  spec: { adapter: { name: adapter }, resourceType },
})

const problems = (required: 'reporting' | 'undecided' | readonly string[], tasks: readonly Manifest[]) =>
  requiredIsDone([kinds(required), API, ...tasks])
