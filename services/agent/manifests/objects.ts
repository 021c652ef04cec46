/** The objects of a workload of manifests: their names, their owner, their order and their health. AGENT-13, AGENT-15, AGENT-16. Pure. */
import { createHash } from 'node:crypto'
import type { Phase } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { readinessOf } from '#operator/model/readiness.ts'
import type { Manifest } from '../workload.ts'

/** Which Deployment an object belongs to: `<namespace>/<name>`. Two of them that apply one object meet in a conflict by it. */
export const OWNER_ANNOTATION = 'fleet.nationtech.io/deployment'

/** An object that was applied, or was about to be. */
export interface ObjectName {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

export const nameOf = ({ apiVersion, kind, metadata: { name, namespace } }: Manifest): ObjectName => ({
  apiVersion,
  kind,
  ...(namespace !== undefined && { namespace }),
  name,
})

/** `ConfigMap default/web` */
export const formatObjectName = ({ kind, namespace, name }: ObjectName): string =>
  `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`

/** The same for any version of its group, so that an object whose version was moved up isn't deleted. */
const identityOf = ({ apiVersion, kind, namespace = '', name }: ObjectName): string =>
  [apiVersion.includes('/') ? apiVersion.split('/')[0] : '', kind, namespace, name].join('/')

/** Those that left the list, the last one first. */
export const findRemovedObjects = (
  applied: readonly ObjectName[],
  desired: readonly ObjectName[],
): readonly ObjectName[] => {
  const kept = new Set(desired.map(identityOf))
  return applied.filter((one) => !kept.has(identityOf(one))).toReversed()
}

/** Both, each once. */
export const union = (applied: readonly ObjectName[], desired: readonly ObjectName[]): readonly ObjectName[] => [
  ...findRemovedObjects(applied, desired).toReversed(),
  ...desired,
]

const FIRST = ['Namespace', 'CustomResourceDefinition']

/** Namespaces and kinds come before what needs them; else the order is that of the list. */
export const sortForApply = (manifests: readonly Manifest[]): readonly Manifest[] =>
  manifests.toSorted((a, b) => Number(FIRST.includes(b.kind)) - Number(FIRST.includes(a.kind)))

export const withOwner = (manifest: Manifest, deployment: string): Manifest => ({
  ...manifest,
  metadata: {
    ...manifest.metadata,
    annotations: { ...manifest.metadata.annotations, [OWNER_ANNOTATION]: deployment },
  },
})

/** Kubernetes: at most 128 characters. */
const MAX_MANAGER_CHARS = 128

/** One manager a Deployment, so that two of them never overwrite each other unseen. */
export const fieldManagerOf = (deployment: string): string => {
  const readable = `muster-agent/${deployment}`
  if (readable.length <= MAX_MANAGER_CHARS) return readable
  return `muster-agent/${createHash('sha256').update(deployment).digest('hex').slice(0, 32)}`
}

interface Condition {
  readonly type?: string
  readonly status?: string
  readonly message?: string
}

/** What it says when it has given up: a failed Job, a Deployment past its deadline, a Stalled resource. Kubernetes: kstatus. */
const findFailure = (object: object): string | undefined => {
  const { kind, status } = object as { kind?: string; status?: { conditions?: readonly Condition[] } }
  const found = status?.conditions?.find(
    ({ type, status: value }) =>
      (type === 'Stalled' && value === 'True') ||
      (kind === 'Job' && type === 'Failed' && value === 'True') ||
      (kind === 'Deployment' && type === 'Progressing' && value === 'False'),
  )
  return found && `${kind} has given up: ${found.message ?? ''}`
}

/** How the objects do together. The worst of them speaks; Running says nothing. */
export const summarizeObjects = (objects: readonly object[]): { readonly phase: Phase; readonly message?: string } => {
  const failure = objects.map(findFailure).find((text) => text !== undefined)
  if (failure !== undefined) return { phase: 'Failed', message: failure }
  const waiting = objects.map(readinessOf).find(({ available }) => available !== 'True')
  return waiting === undefined ? { phase: 'Running' } : { phase: 'Pending', message: waiting.message }
}
