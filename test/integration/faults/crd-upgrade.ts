/** Custom resource definitions that change while controllers work. */
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { load } from 'js-yaml'
import { expect } from 'vitest'
import type { ProxiedRequest } from '#test/harness/index.ts'
import { ALL_WORK, type Fault } from './fault.ts'
import { type FaultWorld, PATIENCE } from './world.ts'

interface Version {
  readonly name: string
  readonly storage: boolean
  readonly schema: { readonly openAPIV3Schema: { readonly properties: Readonly<Record<string, Schema>> } }
}

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>
}

interface Crd {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly versions: readonly Version[] }
}

const PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Every definition of ours is exchanged for what is made of it, until it is disposed of. */
const exchange = async (world: FaultWorld, change: (versions: readonly Version[]) => readonly Version[]) => {
  const files = globSync('manifests/crds/*.yaml')
  const crds = await Promise.all(files.map(async (file) => load(await readFile(file, 'utf8')) as Crd))
  const put = async (name: string, versions: readonly Version[]) => {
    await world.cluster.rest('PATCH', `${PATH}/${name}`, { spec: { versions } })
  }
  for (const { metadata, spec } of crds) await put(metadata.name, change(spec.versions))
  return {
    async [Symbol.asyncDispose]() {
      for (const { metadata, spec } of crds) await put(metadata.name, spec.versions)
    },
  }
}

const withStatus = (version: Version, of: (fields: Readonly<Record<string, unknown>>) => object): Version => {
  const { properties } = version.schema.openAPIV3Schema
  const { status } = properties
  if (status?.properties === undefined) return version
  const changed = { ...properties, status: { ...status, properties: of(status.properties) } }
  return {
    ...version,
    schema: { openAPIV3Schema: { ...version.schema.openAPIV3Schema, properties: changed as never } },
  }
}

/** As a later release does it: fields that this one does not know, and a version that is served beside. */
export const crdsUpgraded: Fault = {
  begin: (world) =>
    exchange(world, (versions) =>
      versions.flatMap((version) => {
        const later = withStatus(version, (fields) => ({ ...fields, later: { type: 'string' } }))
        return [later, { ...later, name: 'v9', storage: false }]
      }),
    ),
  meanwhile: ALL_WORK,
}

/** What controllers decide by. The rest of a status is for people. */
const NEEDED = new Set([
  'observedGeneration',
  'conditions',
  // The lease of a customization, and what it was of.
  'clusterDeploymentRef',
  'clusterPoolRef',
  'registeredUid',
  // The record of a cluster in the HyperFleet API, its installation, and whether it runs.
  'hyperfleet',
  'installedTimestamp',
  'installStartedTimestamp',
  'powerState',
  // How far a rollout is.
  'revision',
  'rollout',
  'ready',
  'deployments',
])

/** Milliseconds in which no status is written twice: longer than the runtime waits for its own write to come back. */
const QUIET_MS = 12_000

/** What was written more than once. */
const rewritten = (requests: readonly ProxiedRequest[]): readonly string[] => {
  const paths = requests.filter(({ method, path }) => method !== 'GET' && path.includes('/status'))
  const counts = Map.groupBy(paths, ({ path }) => path)
  return [...counts].filter(([, all]) => all.length > 1).map(([path, all]) => `${path}: ${all.length} times`)
}

/** As an earlier release had it, or a cluster whose CRDs were not upgraded with the program: the API server drops what they don't know. */
export const crdsOlder: Fault = {
  begin: (world) =>
    exchange(world, (versions) =>
      versions.map((version) =>
        withStatus(version, (fields) =>
          Object.fromEntries(Object.entries(fields).filter(([name]) => NEEDED.has(name))),
        ),
      ),
    ),
  meanwhile: ALL_WORK,
  // What is not there when it is read again is not written again and again.
  holds: async ({ suite }) => {
    const inQuiet = async () => {
      const before = suite.proxy.requests().length
      await delay(QUIET_MS)
      return rewritten(suite.proxy.requests().slice(before))
    }
    await expect.poll(inQuiet, PATIENCE).toEqual([])
  },
}
