/**
 * Where a record comes from, as labels that its ClusterDeployment does not have: by them a cluster that Kubernetes has forgotten keeps its
 * customization (CLUSTER-13). They are written when something else is written: alone they would be a new generation of every record.
 */
import { createHash } from 'node:crypto'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { Namespace } from '#apis/kubernetes.ts'
import type { Api } from '#operator/client/api.ts'
import { TemporaryError } from '#operator/model/errors.ts'
import { CUSTOMIZATION, KUBERNETES } from '../labels.ts'
import type { ClusterRecord } from './record.ts'

/** The namespace whose uid names a Kubernetes cluster, as it does elsewhere: it is there from the first moment, and is never made anew. */
const NAMED_BY = 'kube-system'

/** The uids of Kubernetes clusters whose records are this one's. */
export interface KubernetesUids {
  readonly own: string
  /** Of those that this one was restored from, as a person says. */
  readonly former: readonly string[]
}

/** Reads once which Kubernetes cluster this is. */
export class KubernetesIdentity {
  readonly #former: readonly string[]
  #own: string | undefined

  constructor(former: readonly string[]) {
    this.#former = former
  }

  /** Was the record made by this Kubernetes cluster, as it says itself? Nothing is known before the first reading. */
  isOwn({ labels }: Pick<ClusterRecord, 'labels'>): boolean {
    const uid = labels[KUBERNETES]
    return uid !== undefined && this.#own !== undefined && (uid === this.#own || this.#former.includes(uid))
  }

  /** @throws ApiError, NetworkError, TemporaryError */
  async read(api: Pick<Api, 'get'>): Promise<KubernetesUids> {
    this.#own ??= (await api.get(Namespace, NAMED_BY))?.metadata.uid
    if (this.#own === undefined) throw new TemporaryError(`namespace ${NAMED_BY} is not there`)
    return { own: this.#own, former: this.#former }
  }
}

/** The Kubernetes cluster that registered a record, where that is another one; one without the label is of an older version. CLUSTER-16. */
export const foreignKubernetes = (
  labels: Readonly<Record<string, string>>,
  { own, former }: KubernetesUids,
): string | undefined => {
  const uid = labels[KUBERNETES]
  return uid === undefined || uid === own || former.includes(uid) ? undefined : uid
}

/** What a record tells of its origin is true; what it does not tell is written with its next change. CLUSTER-15. */
export const isOriginTrue = (
  deployment: ClusterDeployment,
  labels: Readonly<Record<string, string>>,
  { own, former }: KubernetesUids,
): boolean =>
  [own, ...former].some((uid) => {
    const origin = originLabels(deployment, uid)
    return [KUBERNETES, CUSTOMIZATION].every((key) => labels[key] === undefined || labels[key] === origin[key])
  })

/** @param kubernetes the uid of the Kubernetes cluster */
export const originLabels = (
  { spec: { clusterPoolRef: pool } }: ClusterDeployment,
  kubernetes: string,
): Readonly<Record<string, string>> => {
  const leased = pool?.clusterDeploymentCustomization?.name
  return {
    [KUBERNETES]: kubernetes,
    ...(leased !== undefined && { [CUSTOMIZATION]: digestCustomization(kubernetes, pool?.namespace ?? '', leased) }),
  }
}

/** What is left are the labels of the ClusterDeployment. */
export const withoutOrigin = (labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => key !== KUBERNETES && key !== CUSTOMIZATION))

/** Fits into a label, whatever the names are. */
const digestCustomization = (...names: readonly string[]): string =>
  createHash('sha256').update(names.join('/')).digest('hex').slice(0, 32)
