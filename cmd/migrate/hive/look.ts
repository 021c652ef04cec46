import { ClusterClaim } from '#apis/hive.openshift.io/v1/clusterclaim.ts'
import { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { ClusterDeploymentCustomization } from '#apis/hive.openshift.io/v1/clusterdeploymentcustomization.ts'
import { ClusterPool } from '#apis/hive.openshift.io/v1/clusterpool.ts'
import { createApi } from '#operator/client/api.ts'
import { isNotFound } from '#operator/client/errors.ts'
import type { Resource } from '#operator/index.ts'
import type { ApiServerOptions } from '../../api-server-flags.ts'
import { schemaOf } from '../../crds/crds.ts'
import { Failure } from '../../failure.ts'
import { requireNamespace, withApiServer } from '../../with-api-server.ts'
import type { Schema } from './field-findings.ts'
import { formatJudgements } from './format.ts'
import { type HiveObject, judge } from './judge.ts'
import { type HiveKind, KINDS } from './kinds.ts'
import { type Judged, writeManifests } from './manifests.ts'

export interface MigrateHiveOptions extends ApiServerOptions {
  readonly namespace: string | undefined
  readonly kind: HiveKind | undefined
  readonly output: 'text' | 'json' | 'manifests'
}

const RESOURCES: Readonly<Record<HiveKind, Resource>> = {
  ClusterDeploymentCustomization,
  ClusterPool,
  ClusterClaim,
  ClusterDeployment,
}

/**
 * What Muster would take over of a cluster's Hive objects, as text, JSON or what can be applied. It lists, and does nothing else.
 * @throws LookFailure when the API server does not answer or refuses, Failure when it does not have Hive's kinds
 */
export const lookAtHive = async ({ namespace, kind, output, ...access }: MigrateHiveOptions): Promise<string> => {
  const judged: Judged[] = []
  await withApiServer(access, async (transport) => {
    await requireNamespace(transport, namespace)
    const api = createApi(transport)
    try {
      for (const each of kind === undefined ? KINDS : [kind]) {
        const schema = (schemaOf(each) as { readonly properties: { readonly spec: Schema } }).properties.spec
        for await (const object of api.list(RESOURCES[each], { namespace })) {
          refuseOwn(object as HiveObject, each, transport.server)
          judged.push({ object: object as HiveObject, judgement: judge(each, object as HiveObject, schema) })
        }
      }
    } catch (error) {
      if (isNotFound(error))
        throw new Failure(
          `${transport.server} has no kinds of Hive: name a cluster that has, with --kubeconfig and --context`,
          {
            cause: error,
          },
        )
      throw error
    }
  })
  if (output === 'manifests') return writeManifests(judged, namespace === undefined)
  const judgements = judged.map(({ judgement }) => judgement)
  return output === 'json' ? `${JSON.stringify(judgements, undefined, 2)}\n` : formatJudgements(judgements)
}

/**
 * What the page says of Hive's objects, deleting them among it, is not meant for those that Muster works on (GITOPS-56).
 * @throws Failure for an object with the conditions that Muster writes, and Hive does not
 */
const refuseOwn = ({ metadata, status }: HiveObject, kind: HiveKind, server: string): void => {
  const conditions = status?.conditions
  const has = (type: string) => Array.isArray(conditions) && conditions.some((condition) => condition?.type === type)
  if (!has('Reconciling') || !has('Stalled')) return
  throw new Failure(
    `${kind} ${metadata.namespace}/${metadata.name} of ${server} is Muster’s already: name the cluster with Hive, with --kubeconfig and --context`,
  )
}
