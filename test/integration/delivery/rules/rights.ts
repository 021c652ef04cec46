import { each, type Rule } from './manifest.ts'
import { running } from './workload.ts'

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

/** No account of a pod of Muster's, or with a role at the API, is one of a task: the manager of adapter tasks may not have tokens of it. */
export const partsAreNoTasks: Rule = (objects) => {
  const policy = objects.find(
    ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === 'muster-task-tokens',
  )
  const refused = JSON.stringify(policy ?? '')
  return running(objects).flatMap(({ name, workload }) => {
    const { serviceAccountName, containers } = workload.template.spec
    const roles = containers.flatMap(({ env = [] }) => env.filter((one) => one.name === 'MUSTER_AUTH_ROLES'))
    const mapped = roles.flatMap(({ value = '' }) =>
      [...value.matchAll(ACCOUNT)].flatMap(([, account]) => account ?? []),
    )
    return [...(serviceAccountName === undefined ? [] : [serviceAccountName]), ...mapped]
      .filter((account) => !refused.includes(`'${account}'`))
      .map((account) => `${name}: name ${account} in the policy muster-task-tokens`)
  })
}

const ACCOUNT = /system:serviceaccount:hyperfleet-system:([^=,]+)=/g
