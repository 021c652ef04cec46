import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { SentinelConfig } from '#apis/hyperfleet.redhat.com/v1alpha1/sentinelconfig.ts'
import { apiVersionOf, pathOf } from '#operator/model/resource.ts'
import { type MusterProcess, type OwnControlPlane, RestError } from '#test/harness/index.ts'
import { deliveredCluster, NAMESPACE, servingWebhook } from './delivered-webhook.ts'

const WEBHOOK = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hyperfleet-sentinel-webhook'

let cluster: OwnControlPlane
let manager: MusterProcess

beforeAll(async () => {
  cluster = await deliveredCluster()
  manager = await servingWebhook(cluster, 'sentinel', '--deny-overlap')
})

afterAll(async () => {
  await manager?.stop()
  await cluster?.stop()
})

/** What the API server answers to one more SentinelConfig; nothing is kept. */
const answer = async (resourceType: string, region: string): Promise<string> => {
  try {
    await cluster.rest('POST', `${pathOf(SentinelConfig, { namespace: NAMESPACE })}?dryRun=All`, {
      apiVersion: apiVersionOf(SentinelConfig),
      kind: SentinelConfig.kind,
      metadata: { name: 'one-more' },
      spec: {
        resourceType,
        shardSelector: { matchLabels: { region } },
        hyperfleetAPI: { url: 'https://hyperfleet-api.hyperfleet-system.svc.cluster.local' },
      },
    })
    return 'accepted'
  } catch (error) {
    if (!(error instanceof RestError)) throw error
    const { message }: { message: string } = JSON.parse(error.message.slice(error.message.indexOf('{')))
    return message
  }
}

test('with --deny-overlap a SentinelConfig that shares resources with another one is refused, and the message names both', async () => {
  // The API server learns of the certificate by a watch of its own.
  await vi.waitUntil(async () => (await answer('wifconfigs', 'us-east')) === 'accepted', { timeout: 30_000 })
  expect(await answer('clusters', 'us-east')).toMatchInlineSnapshot(
    `"admission webhook "shard.sentinel.hyperfleet.redhat.com" denied the request: cluster-sentinel-us-east selects the same resources, for example one with region=us-east: change a shardSelector so that no resource matches both"`,
  )
})

test('with --deny-overlap a SentinelConfig of its own resources is accepted', async () => {
  expect(await answer('wifconfigs', 'us-east')).toBe('accepted')
})

test('the certificate authority is written where Git leaves room for it', async () => {
  const { webhooks } = await cluster.rest<{ webhooks: { clientConfig: { caBundle?: string } }[] }>('GET', WEBHOOK)
  expect(webhooks[0]?.clientConfig.caBundle).toMatch(/^LS0t/)
})
