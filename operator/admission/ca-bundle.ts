import type { Api } from '../client/api.ts'
import { isConflict } from '../client/errors.ts'
import type { KubeObject, Resource } from '../model/resource.ts'

/** A ValidatingWebhookConfiguration or MutatingWebhookConfiguration, as far as it is used. */
export interface WebhookConfiguration extends KubeObject<undefined, never> {
  readonly webhooks?: readonly Webhook[]
}

interface Webhook {
  readonly name: string
  readonly clientConfig: { readonly caBundle?: string }
}

const configurations = (kind: string, plural: string): Resource<WebhookConfiguration> => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural,
  kind,
  scope: 'Cluster',
  subresources: [],
})

export const VALIDATING = configurations('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations')
export const MUTATING = configurations('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations')

/** The webhooks with the bundle in each; undefined when it is there already. */
const withBundle = ({ webhooks = [] }: WebhookConfiguration, bundle: string): readonly Webhook[] | undefined => {
  const caBundle = Buffer.from(bundle).toString('base64')
  if (webhooks.every(({ clientConfig }) => clientConfig.caBundle === caBundle)) return undefined
  return webhooks.map((webhook) => ({ ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }))
}

/** Writes the bundle into a webhook configuration. One that another writer just changed comes again by the watch. */
export const injectCaBundle = async (
  api: Api,
  resource: Resource<WebhookConfiguration>,
  configuration: WebhookConfiguration,
  bundle: string,
): Promise<void> => {
  const webhooks = withBundle(configuration, bundle)
  if (webhooks === undefined) return
  try {
    await api.patchIfUnchanged(resource, configuration, { webhooks })
  } catch (error) {
    if (!isConflict(error)) throw error
  }
}
