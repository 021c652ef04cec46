/** Custom resource definitions that change while controllers work. */
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { load } from 'js-yaml'
import type { Fault } from './fault.ts'
import type { FaultWorld } from './world.ts'

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

const WORKS = {
  sentinel: 'works',
  adapter: 'works',
  clusterpool: 'works',
  clusterclaim: 'works',
  clusterdeployment: 'works',
  clusterdevice: 'works',
  fleet: 'works',
} as const

/** As a later release does it: fields that this one does not know, and a version that is served beside. */
export const crdsUpgraded: Fault = {
  begin: (world) =>
    exchange(world, (versions) =>
      versions.flatMap((version) => {
        const later = withStatus(version, (fields) => ({ ...fields, later: { type: 'string' } }))
        return [later, { ...later, name: 'v9', storage: false }]
      }),
    ),
  meanwhile: WORKS,
}
