import { RoleBinding } from '#apis/kubernetes.ts'
import { providerBindingManifest } from '../cluster/manifests.ts'
import type { Action } from '../model/plan.ts'
import { refersTo } from '../model/provider.ts'
import { type ExecuteContext, FIELD_MANAGER } from './context.ts'

type Binding = Pick<Extract<Action, { readonly action: 'BindProvider' }>, 'namespace' | 'role' | 'there'>

/** Lets the account of a provider into the namespace, also where a binding of that name refers to something else. POOL-84. @throws ApiError, NetworkError */
export const bindProvider = async (
  { api, pool }: Pick<ExecuteContext, 'api' | 'pool'>,
  { namespace, role, there }: Binding,
): Promise<void> => {
  if (there !== undefined && !refersTo(there.roleRef, role.name))
    await api.delete(RoleBinding, there.name, namespace, { uid: there.uid })
  const manifest = providerBindingManifest(pool, namespace, role)
  await api.apply(RoleBinding, manifest, { fieldManager: FIELD_MANAGER, force: true })
}
