import { each, type Rule } from './manifest.ts'

interface Right {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly verbs: readonly string[]
}

/** No role allows everything, or something to everything. */
export const noWildcards: Rule = each(['Role', 'ClusterRole'], (role) =>
  ((role as unknown as { rules?: readonly Right[] }).rules ?? [])
    .filter(({ apiGroups = [], resources = [], nonResourceURLs = [], verbs }) =>
      [...apiGroups, ...resources, ...nonResourceURLs, ...verbs].some((word) => word.includes('*')),
    )
    .map((right) => `name what is meant by "*" in ${JSON.stringify(right)}`),
)

/** Groups that Kubernetes puts every user into. */
const EVERYBODY = ['system:authenticated', 'system:unauthenticated', 'system:serviceaccounts']

/** No user is given a right by being there. */
export const rightsAreSomebodys: Rule = each(['RoleBinding', 'ClusterRoleBinding'], (binding) =>
  ((binding as unknown as { subjects?: readonly { name: string }[] }).subjects ?? [])
    .filter(({ name }) => EVERYBODY.includes(name))
    .map(({ name }) => `name who is meant instead of the group ${name}`),
)
