/**
 * Where a world of GitOps stands: what is Kubernetes there, what runs Argo CD, and how the suite comes to life. The tests of
 * test/e2e/argocd are the same on each.
 */

import { kindGround } from './kind.ts'
import { localGround } from './local.ts'
import type { GroundProvider } from './provider.ts'

const PROVIDERS: Readonly<Record<string, GroundProvider>> = { local: localGround, kind: kindGround }

/** The one that `$MUSTER_GITOPS_ON` names; processes of this machine when it is not set. @throws Error for another name */
export const ground = (): GroundProvider => {
  const name = process.env.MUSTER_GITOPS_ON ?? 'local'
  const provider = PROVIDERS[name]
  if (provider === undefined)
    throw new Error(`MUSTER_GITOPS_ON=${name}: write one of ${Object.keys(PROVIDERS).join(', ')}`)
  return provider
}
