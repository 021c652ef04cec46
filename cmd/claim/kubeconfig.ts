import { writeFile } from 'node:fs/promises'
import {
  AdminKubeconfigError,
  adminKubeconfigName,
  parseAdminKubeconfig,
  readAdminKubeconfig,
} from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import { findCondition } from '#operator/model/conditions.ts'
import { Failure, LookFailure } from '../failure.ts'
import { withApiServer } from '../with-api-server.ts'
import type { ClaimKubeconfigOptions } from './command.ts'

/**
 * Prints the kubeconfig of the cluster that a claim has, or writes it into a file.
 * @throws Failure that says what the claim waits for, LookFailure for what can't be read
 */
export const printKubeconfig = async (
  name: string,
  { namespace, write, ...access }: ClaimKubeconfigOptions,
): Promise<void> => {
  try {
    const { text, notice } = await withApiServer(access, (transport) =>
      readKubeconfig(createApi(transport), name, namespace),
    )
    if (write === undefined) process.stdout.write(text)
    else await writeNew(write, text)
    if (notice !== undefined) process.stderr.write(`${notice}\n`)
  } catch (error) {
    if (error instanceof AdminKubeconfigError) throw new Failure(error.message, { cause: error })
    throw error
  }
}

/** Nothing is overwritten: the file may have other clusters in it. */
const writeNew = async (file: string, text: string): Promise<void> => {
  try {
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' ? 'is there already: remove it, or name another file' : message
    throw new Failure(`--write: ${file} ${why}`, { cause: error })
  }
}

interface Found {
  readonly text: string
  /** What its user should know. */
  readonly notice: string | undefined
}

const readKubeconfig = async (api: Api, name: string, namespace: string): Promise<Found> => {
  const claim = await orExplain(
    api.get(ClusterClaim, name, namespace),
    `you may not read ClusterClaims in namespace ${namespace}`,
  )
  if (claim === undefined)
    throw new Failure(
      `there is no ClusterClaim ${name} in namespace ${namespace}: name another one, or its namespace with --namespace`,
    )
  const cluster = await readCluster(api, claim)
  if (adminKubeconfigName(cluster) === undefined) {
    const ready = findCondition(claim.status?.conditions, 'Ready')
    // It names the provider that should have written one.
    if (ready?.reason === 'NoKubeconfig') throw new Failure(`claim ${name}: ${ready.message}`)
    const { conditions } = cluster.status ?? {}
    const why = findCondition(conditions, UNREACHABLE) ?? findCondition(conditions, 'Ready')
    throw new Failure(`cluster ${cluster.metadata.name} has no kubeconfig yet: ${why?.message ?? 'try again soon'}`)
  }
  const kubeconfig = await orExplain(
    readAdminKubeconfig(api, cluster),
    `you may not read the Secret ${adminKubeconfigName(cluster)} of cluster ${cluster.metadata.name}: the subjects of the claim may (spec.subjects), a moment after they got it`,
  )
  // kubectl would run the programs that it names.
  parseAdminKubeconfig(kubeconfig)
  return { text: kubeconfig.text, notice: noticeOf(cluster) }
}

/** The claim's cluster, which has the name of its namespace. */
const readCluster = async (api: Api, { metadata, spec, status }: ClusterClaim): Promise<ClusterDeployment> => {
  if (metadata.deletionTimestamp !== undefined) throw new Failure(`claim ${metadata.name} is being deleted`)
  if (spec.namespace === undefined) throw new Failure(`claim ${metadata.name} has no cluster yet: ${waitOf(status)}`)
  const cluster = await orExplain(
    api.get(ClusterDeployment, spec.namespace, spec.namespace),
    `you may not read the cluster ${spec.namespace} of claim ${metadata.name}: its subjects may (spec.subjects), a moment after they got it`,
  )
  const { claimName, namespace } = cluster?.spec.clusterPoolRef ?? {}
  if (cluster === undefined || claimName !== metadata.name || namespace !== metadata.namespace)
    throw new Failure(`claim ${metadata.name} has no cluster any more: delete the claim, and claim again`)
  return cluster
}

/** What a claim waits for: its place in the queue, and how its pool stands. */
const waitOf = (status: ClusterClaim['status']): string => {
  const [first, ...others] = ['Pending', 'Ready'].flatMap((type) => findCondition(status?.conditions, type) ?? [])
  if (first === undefined) return 'no controller has looked at it yet'
  return `${first.reason}: ${[...new Set([first, ...others].map(({ message }) => message))].join('; ')}`
}

/** @throws LookFailure for a right that is missing */
const orExplain = async <T>(asked: Promise<T>, what: string): Promise<T> => {
  try {
    return await asked
  } catch (error) {
    if (isForbidden(error)) throw new LookFailure(`${what} (${error.message})`, { cause: error })
    throw error
  }
}

const noticeOf = ({ metadata: { name }, spec, status }: ClusterDeployment): string | undefined => {
  const unreachable = findCondition(status?.conditions, UNREACHABLE)
  if (unreachable?.status === 'True')
    return `cluster ${name} is unreachable since ${unreachable.lastTransitionTime}: ${unreachable.message}`
  if (status?.powerState === 'Running') return undefined
  const wake = `kubectl patch clusterdeployment ${name} -n ${name} --type=merge --patch='{"spec":{"powerState":"Running"}}'`
  return spec.powerState === 'Running'
    ? `cluster ${name} is not running yet`
    : `cluster ${name} sleeps; wake it: ${wake}`
}
