/**
 * The three `auth-provider`s of kubeconfigs from before exec plugins, loaded when a kubeconfig names one: they bring an
 * OpenID client and a JSONPath engine that runs on `vm`.
 */
import type { User } from '@kubernetes/client-node'
import type { Authenticator } from '@kubernetes/client-node/dist/auth.js'

type Options = Parameters<Authenticator['applyAuthentication']>[1]

const lazy = (name: string, load: () => Promise<Authenticator>) =>
  class implements Authenticator {
    /** One for good, as client-node has it: it keeps the tokens that it got. */
    #loaded: Promise<Authenticator> | undefined

    isAuthProvider(user: User): boolean {
      return user.authProvider?.name === name
    }

    async applyAuthentication(user: User, options: Options): Promise<void> {
      this.#loaded ??= load()
      await (await this.#loaded).applyAuthentication(user, options)
    }
  }

export const AzureAuth = lazy('azure', async () => {
  const azure = await import('@kubernetes/client-node/dist/azure_auth.js')
  return new azure.AzureAuth()
})

export const GoogleCloudPlatformAuth = lazy('gcp', async () => {
  const gcp = await import('@kubernetes/client-node/dist/gcp_auth.js')
  return new gcp.GoogleCloudPlatformAuth()
})

export const OpenIDConnectAuth = lazy('oidc', async () => {
  const oidc = await import('@kubernetes/client-node/dist/oidc_auth.js')
  return new oidc.OpenIDConnectAuth()
})
