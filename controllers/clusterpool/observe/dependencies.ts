/** What a pool needs of other objects before it can make clusters: POOL-39. */

import {
  type InstallConfig,
  InstallConfigError,
  parseInstallConfig,
} from '#apis/hive.openshift.io/model/install-config.ts'
import { secretNamesIn } from '#apis/hive.openshift.io/model/secret-refs.ts'
import type { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { COPIED_LABEL } from '#apis/hive.openshift.io/v1/labels.ts'
import { Secret } from '#apis/kubernetes.ts'
import { type Api, defineResource, isNotFound } from '#operator/index.ts'
import { pathOf } from '#operator/model/resource.ts'
import type { ImageSetState } from '../model/observed.ts'

export interface Dependencies {
  /** In words: "pull secret: pull". */
  readonly missing: readonly string[]
  readonly imageSet: ImageSetState
  /** Undefined when the pool names none, or it can't be read. */
  readonly template: InstallConfig | undefined
  /** Copied beside each cluster, because what refers to them there names no namespace. */
  readonly secrets: readonly Secret[]
  /** When they were read: milliseconds of a clock that only goes forward. */
  readonly readAt: number
}

const TEMPLATE_KEY = 'install-config.yaml'
const PULL_SECRET_KEY = '.dockerconfigjson'
/** Kubernetes: SecretTypeServiceAccountToken. */
const ACCOUNT_TOKEN = 'kubernetes.io/service-account-token'

/** Hive's kind of a release. It need not be installed: here nothing but its name is used. */
const ClusterImageSet = defineResource({
  group: 'hive.openshift.io',
  version: 'v1',
  plural: 'clusterimagesets',
  kind: 'ClusterImageSet',
  scope: 'Cluster',
  subresources: [],
})

/** Reads what the pool refers to; nothing of it is watched. @param readAt as in Dependencies. @throws ApiError, NetworkError */
export const readDependencies = async (api: Api, pool: ClusterPool, readAt: number): Promise<Dependencies> => {
  const { imageSetRef, pullSecretRef, installConfigSecretTemplateRef, platform } = pool.spec
  const missing: string[] = []
  const secrets: Secret[] = []
  const secret = async (what: string, name: string, key?: string): Promise<Secret | undefined> => {
    const found = await api.get(Secret, name, pool.metadata.namespace)
    const refusal = found === undefined ? undefined : refusalOf(found)
    if (found === undefined) missing.push(`${what}: ${name}`)
    else if (refusal !== undefined) missing.push(`${what}: ${name}, ${refusal}`)
    else if (key !== undefined && found.data?.[key] === undefined) missing.push(`${what}: ${name}, its key ${key}`)
    else return found
    return undefined
  }
  const copied = async (what: string, name: string, key?: string) => {
    const found = await secret(what, name, key)
    if (found !== undefined) secrets.push(found)
  }

  const imageSet = await findImageSet(api, imageSetRef.name)
  if (imageSet === 'Missing') missing.push(`cluster image set: ${imageSetRef.name}`)
  if (pullSecretRef !== undefined) await copied('pull secret', pullSecretRef.name, PULL_SECRET_KEY)
  for (const name of secretNamesIn(platform)) await copied('credentials secret', name)
  let template: InstallConfig | undefined
  if (installConfigSecretTemplateRef !== undefined) {
    const what = 'install config template secret'
    const found = await secret(what, installConfigSecretTemplateRef.name, TEMPLATE_KEY)
    try {
      if (found !== undefined) template = parseInstallConfig(textOf(found, TEMPLATE_KEY))
    } catch (error) {
      if (!(error instanceof InstallConfigError)) throw error
      missing.push(`${what}: ${installConfigSecretTemplateRef.name}: ${error.message}`)
    }
  }
  return { missing, imageSet, template, secrets, readAt }
}

/**
 * What a pool names comes beside its clusters, where its admins read it, and authors of pools may name any Secret of their namespace: the author of
 * the Secret says whether it may. A token that Kubernetes fills in is never told on: an admin of a pool may make a Secret for one.
 */
const refusalOf = ({ metadata: { labels }, type }: Secret): string | undefined => {
  if (type === ACCOUNT_TOKEN) return 'which is the token of a ServiceAccount'
  return labels?.[COPIED_LABEL] === 'true' ? undefined : `its label ${COPIED_LABEL}=true`
}

const textOf = ({ data }: Secret, key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString('utf8')

/** Only where its kind is served can one be missing. */
const findImageSet = async (api: Api, name: string): Promise<ImageSetState> => {
  try {
    await api.transport.request({ method: 'GET', path: pathOf(ClusterImageSet, { name }) })
    return 'Found'
  } catch (error) {
    // The answer that an object is missing names it; the one that a kind is missing does not.
    if (isNotFound(error)) return error.details.name === undefined ? 'NotServed' : 'Missing'
    throw error
  }
}
