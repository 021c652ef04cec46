/** Admission webhooks that are not ours, and stand in our way. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { certificateFor } from '#test/harness/certificates.ts'
import { type Fault, logs, object, type Say } from './fault.ts'
import { type FaultWorld, NAMESPACE } from './world.ts'

/** Of every account of Muster, and of its tasks. */
const OURS = `request.userInfo.username.startsWith('system:serviceaccount:${NAMESPACE}:')`

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

const claimsAndEvents: Say = async (world) => {
  const claims = await object('clusterclaims', '-A')(world)
  return `${claims} Events: ${await object('events', '-A', '--field-selector=reason=FinalizerNotAdded')(world)}`
}

/** What is written is refused; what is said of it is not. */
export const refusingWebhook: Fault = {
  begin: (world) =>
    foreignWebhook(world, {
      resources: ['*'],
      conditions: ["!(request.resource.resource in ['leases', 'events'])"],
      says: 'not during the audit',
    }),
  meanwhile: {
    sentinel: 'works',
    adapter: 'may wait',
    clusterpool: { says: /not during the audit/, where: object('clusterpools', '-A') },
    // CLAIM-8
    clusterclaim: {
      says: /not during the audit.*FinalizerNotAdded.*Events:.*not during the audit/s,
      where: claimsAndEvents,
    },
    clusterdeployment: 'may wait',
    clusterdevice: 'may wait',
    fleet: { says: /not during the audit/, where: object('fleetdep', '-A') },
  },
}

/** Nothing at all can be written, Leases included. */
export const silentWebhook: Fault = {
  begin: (world) => foreignWebhook(world, { resources: ['*/*'], conditions: [], says: undefined }),
  meanwhile: {
    sentinel: { says: /rules\.example\.com/, where: logs('sentinel') },
    adapter: { says: /rules\.example\.com/, where: logs('adapter') },
    clusterpool: { says: /rules\.example\.com/, where: logs('clusterpool') },
    clusterclaim: { says: /rules\.example\.com/, where: logs('clusterclaim') },
    clusterdeployment: 'may wait',
    clusterdevice: 'may wait',
    fleet: { says: /rules\.example\.com/, where: logs('fleet') },
  },
}
