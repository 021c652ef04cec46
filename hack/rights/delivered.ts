import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { rightsByController } from '#cmd/manager/controllers.ts'
import type { Call } from './call.ts'
import { allows, describeRight, type PolicyRule, type RoleManifest } from './rule.ts'

const root = join(import.meta.dirname, '../..')

/** Where our ServiceAccounts are given their rights; components are included, because tests switch everything on. */
const FILES = ['kustomize/base/rbac/*.yaml', 'kustomize/components/*/rbac.yaml']

interface Binding {
  readonly kind: string
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly { readonly kind: string; readonly name: string }[]
}

/** Kubernetes: what its ClusterRole of this name allows. */
const KUBERNETES_OWN: Readonly<Record<string, readonly PolicyRule[]>> = {
  'system:auth-delegator': [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ],
}

/** The rules of each ServiceAccount that is delivered, and of those that tests run a controller as alone. */
export const deliveredRules = (): ReadonlyMap<string, readonly PolicyRule[]> => {
  const manifests = globSync(FILES, { cwd: root }).flatMap(
    (file) => loadAll(readFileSync(join(root, file), 'utf8')) as (RoleManifest | Binding)[],
  )
  const rulesOf = ({ kind, name }: Binding['roleRef']): readonly PolicyRule[] =>
    KUBERNETES_OWN[name] ??
    manifests.flatMap((role) =>
      'metadata' in role && !('roleRef' in role) && role.kind === kind && role.metadata.name === name
        ? (role.rules ?? [])
        : [],
    )
  const rules = new Map<string, readonly PolicyRule[]>()
  const give = (account: string, more: readonly PolicyRule[]) =>
    rules.set(account, [...(rules.get(account) ?? []), ...more])
  for (const manifest of manifests)
    if ('roleRef' in manifest) for (const { name } of manifest.subjects) give(name, rulesOf(manifest.roleRef))
  for (const { account, testAccount, role, kind } of Object.values(rightsByController))
    if (testAccount !== account) give(testAccount, rulesOf({ kind, name: role }))
  return rules
}

/** Calls that no rule of their account allows, a line each. Accounts that aren't ours are left in peace. */
export const refusals = (
  calls: readonly Call[],
  rules: ReadonlyMap<string, readonly PolicyRule[]>,
): readonly string[] => {
  const lines = calls.flatMap((call) => {
    const own = rules.get(call.account)
    if (own === undefined || own.some((rule) => allows(rule, call))) return []
    return [`${call.account}: ${describeRight(call.verb, call.group, call.resource)}`]
  })
  return [...new Set(lines)].toSorted()
}
