/**
 * Which labels a Device gets of those that its agent tells. Deployments select by labels, so a stolen key must not choose them: they are
 * the operator's, except those that a flag leaves to devices. What a cluster tells counts as far as its ClusterDeployment has it. FLEET-93.
 * Pure.
 */
import { clusterDeviceName, clusterOfDevice, clusterOriginLabels } from '#apis/fleet.nationtech.io/cluster-device.ts'
import type { Info } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { isListed } from '#apis/fleet.nationtech.io/label-list.ts'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Labels } from '#operator/model/selector.ts'

export interface ToldLabels {
  readonly name: string
  readonly info: Info
  /** The ClusterDeployment that the device says it is; undefined for a machine, and when it can't be read. */
  readonly cluster: ClusterDeployment | undefined
  /** Labels that devices choose themselves: docs/fleet-agent.md. */
  readonly allowed: readonly string[]
  /** What an operator wrote before, be it of an earlier release, which took every label. */
  readonly written: Labels
}

export interface OwnLabels {
  readonly labels: Labels
  /** What the agent says and does not choose: shown to people, and theirs to set. */
  readonly ignored: Labels
}

export const chooseLabels = ({ name, info, cluster, allowed, written }: ToldLabels): OwnLabels => {
  const reported = Object.entries(info.labels)
  const chosen = reported.filter(([key]) => isListed(key, allowed))
  const isItself = cluster !== undefined && isNamedAfter(name, info)
  const confirmed = isItself ? confirm(reported, cluster) : []
  // A Deployment may have come to the device by such a label: it stays until a person takes it away.
  const kept = isItself ? [] : Object.entries(written).filter(([key]) => !isListed(key, allowed))
  const labels = Object.fromEntries([...kept, ...chosen, ...confirmed])
  return { labels, ignored: Object.fromEntries(reported.filter(([key, value]) => labels[key] !== value)) }
}

/** No key of a machine is made out in the name of a cluster: AGENT-29. */
const isNamedAfter = (name: string, { inventory }: Info): boolean => {
  const cluster = clusterOfDevice(inventory)
  return cluster !== undefined && clusterDeviceName(cluster) === name
}

const confirm = (
  reported: readonly (readonly [string, string])[],
  { metadata, spec }: ClusterDeployment,
): readonly (readonly [string, string])[] => {
  const has = { ...metadata.labels, ...clusterOriginLabels(metadata, spec.clusterPoolRef?.poolName) }
  return reported.flatMap(([key]) => {
    const value = Object.hasOwn(has, key) ? has[key] : undefined
    return value === undefined ? [] : [[key, value] as const]
  })
}

interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
  readonly fieldsV1?: { readonly 'f:metadata'?: { readonly 'f:labels'?: Readonly<Record<string, unknown>> } }
}

/** The labels of a Device, as the API server has it, that a field manager applied. */
export const labelsAppliedBy = (manager: string, { metadata }: Device): Labels => {
  const { managedFields = [], labels = {} } = metadata as Device['metadata'] & {
    readonly managedFields?: readonly ManagedFields[]
  }
  const fields = managedFields.find((one) => one.manager === manager && one.operation === 'Apply')?.fieldsV1
  const owned = fields?.['f:metadata']?.['f:labels'] ?? {}
  return Object.fromEntries(Object.entries(labels).filter(([key]) => Object.hasOwn(owned, `f:${key}`)))
}
