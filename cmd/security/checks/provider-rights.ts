import { isDeepStrictEqual } from 'node:util'
import { type ProviderRole, providerRoleOf } from '#controllers/clusterpool/model/provider.ts'
import { LINES } from '../lines.ts'
import { defineCheck, nameOf, type Rule, shippedOf } from '../model.ts'
import { type Access, type Grant, grantsOf, ROLES, TOKENS, textOf, WRITE } from './grants.ts'

const CLUSTERS = 'hive.openshift.io/clusterdeployments'

/**
 * By which an account has more than its ClusterRole says, lets others in, or changes what a cluster is. Of Secrets beside clusters a provider
 * has the names only as clusters come.
 */
const BEYOND: readonly Access[] = [
  { resources: ROLES, verbs: ['create', 'update', 'patch', 'bind', 'escalate'] },
  {
    resources: ['rolebindings', 'clusterrolebindings'].map((name) => `rbac.authorization.k8s.io/${name}`),
    verbs: ['create', 'update', 'patch'],
  },
  { resources: ['serviceaccounts', 'users', 'groups'], verbs: ['impersonate'] },
  TOKENS,
  ...['exec', 'attach', 'portforward'].map((name) => ({ resources: [`pods:${name}`], verbs: ['get', 'create'] })),
  { resources: ['pods:ephemeralcontainers'], verbs: ['update', 'patch'] },
  { resources: ['pods:proxy', 'services:proxy'], verbs: ['get', 'create', 'update', 'patch', 'delete'] },
  { resources: ['secrets'], verbs: ['list', 'watch'] },
  { resources: [CLUSTERS], verbs: WRITE },
  {
    resources: ['assignment', 'finalizers', 'status'].map((part) => `${CLUSTERS}:${part}`),
    verbs: ['update', 'patch'],
  },
]

const wildcardsOf = (rules: readonly Rule[]): readonly string[] =>
  rules.some(({ apiGroups = [], resources = [], verbs }) =>
    [...apiGroups, ...resources, ...verbs].some((word) => word.includes('*')),
  )
    ? ['has * in a rule']
    : []

const accountOf = ({ account: { namespace, name } }: ProviderRole): string =>
  `system:serviceaccount:${namespace}:${name}`

const ANOTHERS = 'apply it again, as this release ships it, and make a ClusterRole of another name for another account'
const FURTHER =
  'name in its rules each kind that its task makes, with the verbs get, create, patch and delete, and take this out: docs/providers.md#its-rights'

/**
 * What pools hand out beside clusters is named, and gives nothing further, but what is shipped with a policy that holds its account. Pools
 * bind without the verb what they have themselves, so every role of a provider counts. SECURITY-18, SECURITY-19.
 */
export const providersCheck = defineCheck('rights-providers', ['ClusterRole'], ({ ClusterRole: roles }, parts) => {
  const known = shippedOf(parts, 'ClusterRole')
  return roles.flatMap(({ metadata, rules }) => {
    const role = providerRoleOf({ metadata })
    if (role === undefined) return []
    const own = known.find((each) => each.metadata.name === role.name)
    const held = own && providerRoleOf(own)
    const isKnown = (grant: Grant) =>
      held !== undefined && grantsOf(own?.rules ?? [], BEYOND).some((each) => isDeepStrictEqual(each, grant))
    const beyond = grantsOf(rules ?? [], BEYOND).filter((grant) => !isKnown(grant))
    const anothers =
      held === undefined || isDeepStrictEqual(held, role)
        ? []
        : [`has what ${accountOf(held)} has beside those of ${held.provider}, by a policy that holds that one`]
    const further = [...wildcardsOf(rules ?? []), ...(beyond.length === 0 ? [] : [`may ${textOf(beyond)}`])]
    const found = [
      ...anothers.map((what) => ({ what, todo: ANOTHERS })),
      ...further.map((what) => ({ what, todo: FURTHER })),
    ]
    return found.map(({ what, todo }) => ({
      line: LINES.providerRights,
      where: nameOf('ClusterRole', metadata),
      what: `beside the clusters of ${role.provider}, ${accountOf(role)} ${what}`,
      todo,
    }))
  })
})
