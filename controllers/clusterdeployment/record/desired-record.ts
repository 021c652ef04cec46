/** The record that a ClusterDeployment wants in the HyperFleet API. */
import { createHash } from 'node:crypto'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { OWN_LABELS, REGISTRATION } from '../labels.ts'
import { withoutSecrets } from './redaction.ts'

/** Lengths of a cluster's name in the API, and its form. HyperFleet API: kinds that are built in. */
const NAME = { least: 3, most: 53, form: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/ }
const HASH_DIGITS = 5

/** The ClusterDeployment's own name where the API takes it. */
export const recordName = (name: string, registration: string): string =>
  name.length >= NAME.least && name.length <= NAME.most && NAME.form.test(name)
    ? name
    : fallbackName(name, registration)

/** Another name for a cluster whose name is taken: always the same for one registration. */
export const fallbackName = (name: string, registration: string): string => {
  const hash = createHash('sha256').update(registration).digest('hex').slice(0, HASH_DIGITS)
  const begin = name.replaceAll('.', '-').slice(0, NAME.most - HASH_DIGITS - 1)
  return `${begin.replace(/-+$/, '')}-${hash}`
}

/**
 * The ClusterDeployment's labels and nothing else (CLUSTER-10): what is declared holds, also when the record is labelled in the API. By Muster's
 * own labels records are found and told apart, so none comes from a ClusterDeployment's author (CLUSTER-15).
 */
export const desiredLabels = (
  { metadata }: ClusterDeployment,
  registration: string,
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !key.startsWith(OWN_LABELS))),
  [REGISTRATION]: registration,
})

/** The spec without the install-config. @param attempt which try at the installation is asked for, from 1 */
export const desiredSpec = (
  { metadata, spec }: ClusterDeployment,
  attempt: number,
): Readonly<Record<string, unknown>> => {
  const { namespace = '', name } = metadata
  const { imageSetRef, installConfigSecretRef } = spec.provisioning ?? {}
  const [[platform, details] = []] = Object.entries(spec.platform)
  return {
    clusterDeployment: { namespace, name },
    ...(spec.clusterPoolRef && {
      clusterPool: { namespace: spec.clusterPoolRef.namespace, name: spec.clusterPoolRef.poolName },
    }),
    clusterName: spec.clusterName,
    baseDomain: spec.baseDomain,
    ...(platform !== undefined && { platform, platformDetails: withoutSecrets(details) }),
    ...(imageSetRef && { imageSet: imageSetRef.name }),
    ...(installConfigSecretRef && { installConfigSecretRef: { namespace, name: installConfigSecretRef.name } }),
    ...(spec.pullSecretRef && { pullSecretRef: { namespace, name: spec.pullSecretRef.name } }),
    installAttempt: attempt,
    // Nothing can be installed on machines that sleep.
    powerState: spec.installed ? spec.powerState : 'Running',
  }
}

/** What the record tells of the install-config. @param installConfig undefined when the ClusterDeployment names none */
export const withInstallConfig = (
  spec: Readonly<Record<string, unknown>>,
  installConfig: unknown,
): Readonly<Record<string, unknown>> =>
  installConfig === undefined ? spec : { ...spec, installConfig: withoutSecrets(installConfig) }
