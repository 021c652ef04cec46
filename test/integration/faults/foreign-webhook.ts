/** Admission webhooks that are not ours, and stand in our way. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect } from 'vitest'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import { type Fault, logs, object, type Say } from './fault.ts'
import { statusesOf } from './quota.ts'
import { type FaultWorld, NAMESPACE, PATIENCE } from './world.ts'

/** Of every account of Muster, and of its tasks. */
const OURS = [NAMESPACE, TASK_ACCOUNTS]
  .map((namespace) => `request.userInfo.username.startsWith('system:serviceaccount:${namespace}:')`)
  .join(' || ')

/** Seconds that the API server waits for it; 10 by default. */
const TIMEOUT_SECONDS = 2

interface Foreign {
  /** `*`: objects, without their status. */
  readonly resources: readonly string[]
  /** CEL. */
  readonly conditions: readonly string[]
  /** Undefined: it never answers. */
  readonly says: string | undefined
}

/** Registers it, until it is disposed of. */
const foreignWebhook = async (
  world: FaultWorld,
  { resources, conditions, says }: Foreign,
): Promise<AsyncDisposable> => {
  const { cert, key } = await certificateFor('127.0.0.1')
  const server = createServer({ cert, key }, (request, response) => {
    if (says === undefined) return
    void json(request).then((review) => {
      const { uid } = (review as { readonly request: { readonly uid: string } }).request
      const status = { code: 403, message: says }
      const answer = {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid, allowed: false, status },
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  await world.cluster.rest('POST', path, {
    metadata: { name: 'foreign' },
    webhooks: [
      {
        name: 'rules.example.com',
        clientConfig: {
          url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
          caBundle: Buffer.from(cert).toString('base64'),
        },
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources }],
        matchConditions: [OURS, ...conditions].map((expression, index) => ({ name: `c${index}`, expression })),
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: TIMEOUT_SECONDS,
      },
    ],
  })
  return {
    async [Symbol.asyncDispose]() {
      await world.cluster.rest('DELETE', `${path}/foreign`)
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The finalizers of ClusterDeployments, by the controller that adds each. */
const FINALIZERS = {
  clusterdeployment: 'hive.openshift.io/deprovision',
  clusterdevice: 'fleet.nationtech.io/cluster-device',
} as const

/**
 * Nothing of ours gets past it from now on; and something is asked of those to which no new cluster comes: a person takes
 * away the finalizers of a ClusterDeployment.
 */
const beginWith = async (world: FaultWorld, foreign: Foreign): Promise<AsyncDisposable> => {
  const { namespace, name } = world.deploymentOf('mine')
  const { kubectl } = world.cluster
  const one = ['clusterdeployment', name, '-n', namespace] as const
  await using stack = new AsyncDisposableStack()
  stack.use(await foreignWebhook(world, foreign))
  const write = ['annotate', ...one, 'example.com/written=yes', '--dry-run=server'] as const
  const asManager = `--as=system:serviceaccount:${NAMESPACE}:hyperfleet-clusterdevice`
  await expect.poll(() => kubectl(...write, asManager).then(() => '', String), PATIENCE).toContain('rules.example.com')
  const { metadata } = JSON.parse(await kubectl('get', ...one, '-o', 'json')) as {
    readonly metadata: { readonly finalizers: readonly string[] }
  }
  const taken: readonly string[] = Object.values(FINALIZERS)
  const finalizers = metadata.finalizers.filter((finalizer) => !taken.includes(finalizer))
  await kubectl('patch', ...one, '--type=merge', '-p', JSON.stringify({ metadata: { finalizers } }))
  return stack.move()
}

const refusedFinalizers = object('events', '-A', '--field-selector=reason=FinalizerNotAdded')

/** That it can't add its finalizer, as an Event of the ClusterDeployment. RUNTIME-76. */
const tellsOf = (controller: keyof typeof FINALIZERS) => ({
  says: new RegExp(`finalizer ${FINALIZERS[controller]} can’t be added: [^}]*not during the audit`),
  where: refusedFinalizers,
})

const claimsAndEvents: Say = async (world) => {
  const claims = await object('clusterclaims', '-A')(world)
  return `${claims} Events: ${await refusedFinalizers(world)}`
}

/** What is written is refused; what is said of it is not. */
export const refusingWebhook = async (world: FaultWorld): Promise<Fault> => {
  const id = await world.idOf('mine')
  return {
    begin: async () => {
      await using stack = new AsyncDisposableStack()
      stack.use(
        await beginWith(world, {
          resources: ['*'],
          conditions: ["!(request.resource.resource in ['leases', 'events'])"],
          says: 'not during the audit',
        }),
      )
      await world.cluster.rest('DELETE', `/api/v1/namespaces/c-${id}/configmaps/cluster`)
      return stack.move()
    },
    meanwhile: {
      sentinel: 'works',
      adapter: { says: /not during the audit/, where: statusesOf(id) },
      clusterpool: { says: /not during the audit/, where: object('clusterpools', '-A') },
      // CLAIM-8
      clusterclaim: {
        says: /not during the audit.*FinalizerNotAdded.*Events:.*not during the audit/s,
        where: claimsAndEvents,
      },
      clusterdeployment: tellsOf('clusterdeployment'),
      clusterdevice: tellsOf('clusterdevice'),
      fleet: { says: /not during the audit/, where: object('fleetdep', '-A') },
    },
  }
}

/** Nothing at all can be written, Leases included. */
export const silentWebhook: Fault = {
  begin: (world) => beginWith(world, { resources: ['*/*'], conditions: [], says: undefined }),
  meanwhile: {
    sentinel: { says: /rules\.example\.com/, where: logs('sentinel') },
    adapter: { says: /rules\.example\.com/, where: logs('adapter') },
    clusterpool: { says: /rules\.example\.com/, where: logs('clusterpool') },
    clusterclaim: { says: /rules\.example\.com/, where: logs('clusterclaim') },
    clusterdeployment: { says: /rules\.example\.com/, where: logs('clusterdeployment') },
    clusterdevice: { says: /rules\.example\.com/, where: logs('clusterdevice') },
    fleet: { says: /rules\.example\.com/, where: logs('fleet') },
  },
}
