/** The pools that come with providers: their customizations are there to be copied, so each has to change something in a cluster. */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import type { Customization } from '#apis/hive.openshift.io/model/customization.ts'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { taskExpressions } from '#controllers/adapter/language/index.ts'
import { renderCluster } from '#controllers/clusterpool/cluster/render.ts'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: unknown
}

interface TaskSpec {
  readonly params: readonly { readonly name: string; readonly source: string | { readonly expression?: string } }[]
}

const HERE = import.meta.dirname
const PROVIDERS = globSync('*/task.yaml', { cwd: HERE }).map(dirname).toSorted()

/** All manifests of a folder. */
const manifestsIn = (folder: string): readonly Manifest[] =>
  globSync('*.yaml', { cwd: join(HERE, folder) }).flatMap(
    (file) => loadAll(readFileSync(join(HERE, folder, file), 'utf8')) as Manifest[],
  )

/** A pool of a provider, and what its customizations are. */
const poolOf = (provider: string) => {
  const manifests = manifestsIn(`${provider}/pool`)
  const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
  return {
    spec: ofKind('ClusterPool')[0]?.spec as ClusterPoolSpec,
    customizations: ofKind('ClusterDeploymentCustomization').map(
      ({ metadata, spec }): Customization => ({ name: metadata.name, ...(spec as object) }),
    ),
  }
}

/** What the task of the provider makes of a cluster: its params that are expressions. */
const paramsOf = (provider: string, poolSpec: ClusterPoolSpec, leased?: Customization) => {
  const [task] = manifestsIn(provider).filter(({ kind }) => kind === 'AdapterTask')
  if (task === undefined) throw new Error(`${provider} has no AdapterTask`)
  const { params } = task.spec as TaskSpec
  const { installConfig } = renderCluster({
    pool: { name: 'pool', namespace: 'pools' },
    poolSpec,
    template: undefined,
    name: 'one',
    shared: undefined,
    leased,
  })
  const { compile } = taskExpressions(['resource', ...params.map(({ name }) => name)], () => new Date())
  const scope: Record<string, unknown> = { resource: { name: 'one', labels: poolSpec.labels, spec: { installConfig } } }
  for (const { name, source } of params)
    if (typeof source === 'object' && source.expression !== undefined)
      scope[name] = compile(source.expression).evaluate(scope)
  return scope
}

/** The params that are other ones with the customization than without. */
const changedBy = (provider: string, poolSpec: ClusterPoolSpec, customization: Customization): object => {
  const [before, after] = [paramsOf(provider, poolSpec), paramsOf(provider, poolSpec, customization)]
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => name !== 'resource' && JSON.stringify(value) !== JSON.stringify(before[name]),
    ),
  )
}

test('CLUSTER-80: each customization of the pools that come with providers changes what the task makes, and each such pool has one', () => {
  const changed = PROVIDERS.map((provider) => {
    const { spec, customizations } = poolOf(provider)
    return [provider, Object.fromEntries(customizations.map((one) => [one.name, changedBy(provider, spec, one)]))]
  })
  expect(Object.fromEntries(changed)).toMatchInlineSnapshot(`
    {
      "cluster-api": {
        "cluster-api": {
          "controlPlaneReplicas": 1,
          "serviceCidr": "10.41.0.0/16",
          "workerCount": 1,
          "workers": [
            {
              "name": "worker",
              "replicas": 1,
            },
          ],
        },
      },
      "hosted": {
        "hosted": {
          "serviceCidr": "10.42.0.0/24",
        },
      },
      "local": {
        "lima": {
          "domain": "lima.example.com",
          "serviceCidr": "10.11.0.0/24",
        },
        "lisbon": {
          "domain": "lisbon.example.org",
          "serviceCidr": "10.12.0.0/24",
        },
        "london": {
          "domain": "london.example.com",
          "featureGates": "MutablePVNodeAffinity=true",
          "serviceCidr": "10.13.0.0/24",
        },
      },
    }
  `)
  for (const provider of PROVIDERS) {
    const { spec, customizations } = poolOf(provider)
    const named = [
      ...(spec.customizationRef === undefined ? [] : [spec.customizationRef]),
      ...(spec.inventory?.ClusterDeploymentCustomizations ?? []),
    ]
    expect(customizations.length, provider).toBeGreaterThan(0)
    expect(named.map(({ name }) => name)).toEqual(customizations.map(({ name }) => name))
  }
})
