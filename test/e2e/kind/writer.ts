/** A pod that writes to the HyperFleet API by its Service, as clients in the cluster do, until it is told to end. */
import { checkoutInfo } from '#cmd/build-info.ts'
import { imageOf } from '#hack/image/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { TASK_WORK } from '#hack/muster/managers.ts'
import type { KindNodes } from '#test/harness/ground/kind/cluster.ts'
import { NAMESPACE } from './world.ts'

export interface Writes {
  /** Ids of the clusters that the API has confirmed. */
  readonly confirmed: readonly string[]
  /** What was answered, or went wrong, instead. */
  readonly refused: readonly string[]
}

export interface Writer {
  /** Lets it finish its last write. */
  end(): Promise<Writes>
}

const NAME = 'writer'

/** One write a second, so that the cluster's Jobs for them stay a few dozen; each on a connection of its own, as from many clients. */
const PROGRAM = `
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
let isEnding = false
// Another writer before it has taken other names.
const begun = Date.now()
process.on('SIGTERM', () => { isEnding = true })
for (let number = 0; !isEnding; number += 1) {
  try {
    const response = await fetch('http://hyperfleet-api:8080/api/hyperfleet/v1/clusters', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + readFileSync('/var/run/secrets/hyperfleet/token', 'utf8'), connection: 'close' },
      body: JSON.stringify({ name: 'write-' + begun + '-' + number, labels: { region: 'us-east' }, spec: { platform: 'none' } }),
    })
    const body = await response.json()
    console.log(response.status === 201 ? 'confirmed ' + body.id : 'refused ' + JSON.stringify(body))
  } catch (error) {
    console.log('refused ' + error + ' ' + error.cause)
  }
  await setTimeout(1000)
}
`

export const writer = async ({ cluster, apply }: Pick<KindNodes, 'cluster' | 'apply'>): Promise<Writer> => {
  const where = `--namespace=${NAMESPACE}`
  const token = { serviceAccountToken: { audience: 'hyperfleet-api', expirationSeconds: 3600, path: 'token' } }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: {
      serviceAccountName: 'hyperfleet-clusterdeployment',
      enableServiceLinks: false,
      restartPolicy: 'Never',
      securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: NAME,
          image: imageOf(checkoutInfo(CHECKOUT)),
          command: ['/usr/local/bin/node', '--input-type=module', '--eval', PROGRAM],
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
          volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets/hyperfleet', readOnly: true }],
        },
      ],
      volumes: [{ name: 'token', projected: { sources: [token] } }],
    },
  }
  await apply([pod])
  await cluster.kubectl('wait', '--for=condition=Ready', `pod/${NAME}`, where, '--timeout=300s')
  return {
    end: async () => {
      await cluster.kubectl('exec', where, NAME, '--', '/usr/local/bin/node', '--eval', 'process.kill(1)')
      await cluster.kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${NAME}`, where, '--timeout=60s')
      const lines = (await cluster.kubectl('logs', where, NAME)).trim().split('\n')
      const of = (what: string) =>
        lines.flatMap((line) => (line.startsWith(`${what} `) ? [line.slice(what.length + 1)] : []))
      return { confirmed: of('confirmed'), refused: of('refused') }
    },
  }
}

interface Job {
  readonly metadata: { readonly name: string }
  readonly status: { readonly succeeded?: number }
}

/** Names of the Jobs of the sample task `cluster-validation` that have come to their end, sorted. */
export const validations = async ({ cluster }: Pick<KindNodes, 'cluster'>): Promise<readonly string[]> => {
  const { items } = await cluster.rest<{ readonly items: readonly Job[] }>(
    'GET',
    `/apis/batch/v1/namespaces/${TASK_WORK}/jobs`,
  )
  return items
    .flatMap(({ metadata, status }) =>
      metadata.name.startsWith('validate-') && status.succeeded === 1 ? [metadata.name] : [],
    )
    .toSorted()
}
