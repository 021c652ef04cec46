/** The install-config of a pool's next cluster, before anything is patched: POOL-4. */

import type { InstallConfig } from '#apis/hive.openshift.io/model/install-config.ts'
import type { Platform } from '#apis/hive.openshift.io/v1/platform.ts'
import { isObject } from '#lib/json/is-object.ts'
import type { Json } from '#lib/json-patch/json.ts'

/** What a pool says of all its clusters. */
export interface InstallConfigInput {
  readonly platform: Platform
  readonly baseDomain: string
}

/** The install-config when the pool names no template. */
export const defaultInstallConfig = (
  { platform, baseDomain }: InstallConfigInput,
  clusterName: string,
): InstallConfig => ({
  apiVersion: 'v1',
  baseDomain,
  metadata: { name: clusterName },
  controlPlane: { name: 'master', replicas: 3 },
  compute: [{ name: 'worker', replicas: 3 }],
  networking: {
    networkType: 'OVNKubernetes',
    clusterNetwork: [{ cidr: '10.128.0.0/14', hostPrefix: 23 }],
    serviceNetwork: ['172.30.0.0/16'],
    machineNetwork: [{ cidr: '10.0.0.0/16' }],
  },
  platform: withoutReferences(platform as Json),
})

/** A template, with the cluster's own name and the pool's domain in it. */
export const fromTemplate = (
  template: InstallConfig,
  { baseDomain }: Pick<InstallConfigInput, 'baseDomain'>,
  clusterName: string,
): InstallConfig => ({
  ...template,
  baseDomain,
  metadata: { ...(isObject(template.metadata) ? template.metadata : {}), name: clusterName },
})

/** References to Secrets are for controllers; an installer knows no Secrets. */
const withoutReferences = (value: Json): Json => {
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !key.endsWith('SecretRef'))
      .map(([key, inner]) => [key, withoutReferences(inner)]),
  )
}
