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
import { withApiServer } from '../../with-api-server.ts'
import type { Schema } from './field-findings.ts'
import { formatJudgements } from './format.ts'
import { type HiveKind, type HiveObject, type Judgement, judge, KINDS } from './judge.ts'

export interface MigrateHiveOptions extends ApiServerOptions {
  readonly namespace: string | undefined
  readonly output: 'text' | 'json'
}

const RESOURCES: Readonly<Record<HiveKind, Resource>> = {
  ClusterDeploymentCustomization,
  ClusterPool,
  ClusterClaim,
  ClusterDeployment,
}

/**
 * What Muster would take over of a cluster's Hive objects, as text or JSON. It lists, and does nothing else.
 * @throws LookFailure when the API server does not answer or refuses, Failure when it does not have Hive's kinds
 */
export const lookAtHive = async ({ namespace, output, ...access }: MigrateHiveOptions): Promise<string> => {
  const judgements: Judgement[] = []
  await withApiServer(access, async (transport) => {
    const api = createApi(transport)
    try {
      for (const kind of KINDS) {
        const schema = (schemaOf(kind) as { readonly properties: { readonly spec: Schema } }).properties.spec
        for await (const object of api.list(RESOURCES[kind], { namespace }))
          judgements.push(judge(kind, object as HiveObject, schema))
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
  return output === 'json' ? `${JSON.stringify(judgements, undefined, 2)}\n` : formatJudgements(judgements)
}
