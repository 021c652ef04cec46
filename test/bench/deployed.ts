/**
 * What the Deployments of ours say of memory: the one place where flags of Node.js and settings of malloc stand. Benches start
 * programs with them, as pods do.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load as parse } from 'js-yaml'

const MANIFESTS = {
  adapter: 'kustomize/adapter/deployment.yaml',
  api: 'kustomize/base/api/deployment.yaml',
  clusterdeployment: 'kustomize/pools/clusterdeployment.yaml',
  clusterpool: 'kustomize/pools/clusterpool.yaml',
  fleet: 'kustomize/fleet/deployment.yaml',
  nats: 'kustomize/base/nats/statefulset.yaml',
  sentinel: 'kustomize/sentinel/deployment.yaml',
} as const

export type DeployedProgram = keyof typeof MANIFESTS

export const programs = Object.keys(MANIFESTS) as readonly DeployedProgram[]

export interface DeployedMemory {
  /** Its name in the pod. */
  readonly container: string
  /** Of the container, in bytes. */
  readonly limit: number
  /** NODE_OPTIONS and what malloc reads. */
  readonly env: Readonly<Record<string, string>>
}

interface Manifest {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Container[]; readonly initContainers?: readonly Container[] }
    }
  }
}

interface Container {
  readonly name: string
  readonly resources?: { readonly limits?: { readonly memory?: string } }
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
}

export const deployedMemory = (program: DeployedProgram): DeployedMemory => {
  const path = join(import.meta.dirname, '../..', MANIFESTS[program])
  const manifest = parse(readFileSync(path, 'utf8')) as Manifest
  const { containers, initContainers = [] } = manifest.spec.template.spec
  // Ours: nats-server stands beside one.
  const container = [...containers, ...initContainers].find(({ env = [] }) =>
    env.some(({ name }) => name === 'NODE_OPTIONS'),
  )
  const [, mebibytes] = /^(\d+)Mi$/.exec(container?.resources?.limits?.memory ?? '') ?? []
  if (mebibytes === undefined) throw new Error(`${MANIFESTS[program]}: the container has no memory limit in Mi`)
  const settings = (container?.env ?? []).filter(({ name }) => /^(NODE_OPTIONS|MALLOC_)/.test(name))
  return {
    container: container?.name ?? '',
    limit: Number(mebibytes) * 2 ** 20,
    env: Object.fromEntries(settings.map(({ name, value = '' }) => [name, value])),
  }
}
