import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { ControllerName } from '#cmd/manager/controllers.ts'
import { rightsByController } from '#cmd/manager/controllers.ts'
import { TASK_ACCOUNTS } from '#hack/muster/managers.ts'
import type { RoleManifest } from '#hack/rights/rule.ts'
import type { ControlPlane } from './controlplane.ts'

/** A controller's own ServiceAccount. */
export interface Account {
  readonly name: string
  /** The path of a kubeconfig that speaks as it. @param server a proxy's, when it stands between */
  kubeconfig(server?: string): Promise<string>
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const FOLDER = join(import.meta.dirname, '../../kustomize/base/rbac')

/**
 * Makes the ServiceAccount of a controller in a namespace of the test, with the rights that are delivered and no others.
 * @param within only in that namespace, although what is delivered holds in all of them
 * @param taskAccounts the namespace in which it has the rights over the accounts of tasks
 */
export const accountOf = async (
  plane: ControlPlane,
  controller: ControllerName,
  namespace: string,
  { within = false, taskAccounts = namespace }: { readonly within?: boolean; readonly taskAccounts?: string } = {},
): Promise<Account> => {
  const { testAccount: name } = rightsByController[controller]
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  await plane.rest('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  const manifests = loadAll(await readFile(join(FOLDER, `${controller}.yaml`), 'utf8')) as RoleManifest[]
  for (const { kind, metadata, rules } of manifests) {
    if (kind !== 'Role' && kind !== 'ClusterRole') continue
    const isOfTaskAccounts = metadata.namespace === TASK_ACCOUNTS
    // A ClusterRole belongs to no namespace: this one is of this test only.
    const suffix = kind === 'ClusterRole' ? `-${namespace}` : isOfTaskAccounts ? '-task-accounts' : ''
    const role = `${metadata.name}${suffix}`
    const place = isOfTaskAccounts ? taskAccounts : namespace
    const pathOf = (of: 'Role' | 'ClusterRole', plural: string) =>
      of === 'Role' ? `${RBAC}/namespaces/${place}/${plural}` : `${RBAC}/cluster${plural}`
    await plane.rest('POST', pathOf(kind, 'roles'), { metadata: { name: role }, rules })
    await plane.rest('POST', pathOf(within ? 'Role' : kind, 'rolebindings'), {
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects,
    })
    if (within) await grantNamedNamespaces(plane, `${metadata.name}-${namespace}`, rules, subjects)
  }
  return { name, kubeconfig: (server) => plane.kubeconfigFor(name, namespace, server) }
}

/** A namespace that a rule names is no part of the test's own: the right to read it is given there. */
const grantNamedNamespaces = async (
  plane: ControlPlane,
  name: string,
  rules: RoleManifest['rules'],
  subjects: readonly object[],
): Promise<void> => {
  const named = (rules ?? []).filter(({ resources, resourceNames = [] }) => {
    return resources?.includes('namespaces') === true && resourceNames.length > 0
  })
  for (const rule of named)
    for (const within of rule.resourceNames ?? []) {
      await plane.rest('POST', `${RBAC}/namespaces/${within}/roles`, { metadata: { name }, rules: [rule] })
      await plane.rest('POST', `${RBAC}/namespaces/${within}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
        subjects,
      })
    }
}
