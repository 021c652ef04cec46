import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import { each, type Manifest, nameOf, type Rule } from './manifest.ts'
import { type Workload, workloadOf } from './workload.ts'

const CLUSTER_SCOPED = [
  'Namespace',
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleBinding',
  'ValidatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'PriorityClass',
  'Device',
] as const

/** What there may be in the namespaces of tasks' accounts and of what these apply: no account of Muster's, and nothing that runs. */
const RIGHTS = ['Role', 'RoleBinding']
const OF_TASKS = [TASK_ACCOUNTS, TASK_WORK]

/** Everything is in one namespace, and the namespace is part of the build. */
export const inOneNamespace =
  (namespace: string): Rule =>
  (objects) =>
    each(undefined, ({ kind, metadata }) => {
      const isClusterScoped = CLUSTER_SCOPED.some((name) => name === kind)
      if (isClusterScoped) return metadata.namespace === undefined ? [] : ['it has no namespace']
      if (RIGHTS.includes(kind) && OF_TASKS.some((name) => name === metadata.namespace)) return []
      return metadata.namespace === namespace ? [] : [`it must be in ${namespace}, not in ${metadata.namespace}`]
    })(objects)

/** Which subject is bound, and which Service is called: kustomize's namespace does not reach every such field. */
interface Referring {
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[]
  readonly webhooks?: readonly { readonly clientConfig: { readonly service?: { readonly namespace: string } } }[]
}

/** What an object of the build refers to in a namespace is in the namespace of the build. */
export const refersToOneNamespace = (namespace: string): Rule =>
  each(undefined, (object) => {
    const { subjects = [], webhooks = [] } = object as Referring
    const named = [
      ...subjects.map((subject) => subject.namespace),
      ...webhooks.map(({ clientConfig }) => clientConfig.service?.namespace),
    ]
    return named
      .filter((one) => one !== undefined && one !== namespace)
      .map((one) => `it refers to the namespace ${one}, and must to ${namespace}`)
  })

/** The server of a webhook gives its CA: one in Git would be taken for the truth and put back. */
export const noCertificates: Rule = each(
  ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'CustomResourceDefinition'],
  (object) => (JSON.stringify(object).includes('"caBundle"') ? ['leave caBundle to the manager'] : []),
)

export const noStatus: Rule = each(undefined, ({ status }) =>
  status === undefined ? [] : ['leave the status to its controller'],
)

/** Argo CD compares these lists as one value: a field that the API server fills in makes the StatefulSet OutOfSync for ever. GITOPS-9. */
export const claimsAsStored: Rule = each(['StatefulSet'], (object) => {
  const claims = (object.spec as Workload).volumeClaimTemplates ?? []
  const isWhole = claims.every(({ apiVersion, kind, spec }) => apiVersion && kind && spec?.volumeMode)
  return isWhole ? [] : ['say apiVersion, kind and volumeMode of its claims']
})

const waveOf = ({ metadata }: Manifest): number => Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0)

/** What a kind needs is there before it. Kinds that are not listed come with the operators. */
const ORDER: readonly (readonly string[])[] = [
  ['Namespace'],
  ['CustomResourceDefinition'],
  ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding', 'NetworkPolicy'],
  ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  ['Deployment', 'SentinelConfig'],
  ['ValidatingWebhookConfiguration'],
  ['AdapterTask', 'ClusterPool'],
]

/** Argo CD makes what the next wave needs, and removes it after it. */
export const wavesInOrder: Rule = (objects) => {
  const problems: string[] = []
  const places = ORDER.map((kinds) => objects.filter(({ kind }) => kinds.includes(kind)))
  for (const [place, later] of places.entries()) {
    for (const earlier of places.slice(0, place).flat()) {
      const wrong = later.find((object) => waveOf(object) <= waveOf(earlier))
      if (wrong !== undefined) problems.push(`${nameOf(earlier)}: its wave must be before that of ${nameOf(wrong)}`)
    }
  }
  return problems
}

/**
 * A Sentinel is not ready without the SentinelConfig that it names, and that one not without its Sentinel: in two waves the first would be
 * waited for for ever. GITOPS-35.
 */
export const sentinelsWithTheirConfig: Rule = (objects) => {
  const configs = objects.filter(({ kind }) => kind === 'SentinelConfig')
  return each(['Deployment'], (object) => {
    const args = workloadOf(object)?.template.spec.containers.flatMap(({ args = [] }) => args) ?? []
    const config = configs.find(({ metadata }) => args.includes(`--config=${metadata.name}`))
    return config === undefined || waveOf(config) === waveOf(object)
      ? []
      : [`its wave must be that of ${nameOf(config)}`]
  })(objects)
}

/** What stays when a commit takes it away, and is not counted as a difference then. @param options of a sync */
const stays = ({ metadata }: Manifest, options: string): readonly string[] => {
  const wanted = {
    'argocd.argoproj.io/sync-options': options,
    'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  }
  return Object.entries(wanted).flatMap(([key, value]) =>
    metadata.annotations?.[key] === value ? [] : [`set ${key}: ${value}`],
  )
}

/**
 * What takes everything else with it goes with the Application only when a person says so. The revert of a release leaves what the older
 * one does not have: a confirmation would be waited for in the middle of the sync. GITOPS-34.
 */
export const keptUnlessConfirmed: Rule = each(['Namespace', 'CustomResourceDefinition'], (object) =>
  stays(object, 'Prune=false,Delete=confirm'),
)

/**
 * Kubernetes keeps an account in a workload from which a manifest takes it away, so after a revert to a release that has no such account
 * the workload gets pods only where the account has stayed. GITOPS-32.
 */
export const accountsStay: Rule = each(['ServiceAccount'], (object) => stays(object, 'Prune=false'))
