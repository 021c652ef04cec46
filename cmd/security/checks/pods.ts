import { POOL_LABELS } from '#apis/hive.openshift.io/v1/labels.ts'
import { POD_SECURITY_LABEL } from '#apis/kubernetes.ts'
import { LINES } from '../lines.ts'
import {
  type Container,
  defineCheck,
  isOfCluster,
  NAMESPACE,
  nameOf,
  type Objects,
  type PodSpec,
  type WorkloadSpec,
} from '../model.ts'

/** What runs pods for as long as it is there. */
export const WORKLOAD_KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const
type Workloads = Pick<Objects, (typeof WORKLOAD_KINDS)[number]>

/** A workload with its kind and name. */
export interface NamedWorkload {
  readonly where: string
  readonly pod: PodSpec
}

export const workloadsOf = (objects: Workloads): readonly NamedWorkload[] =>
  WORKLOAD_KINDS.flatMap((kind) =>
    objects[kind].map(({ metadata, spec }: { metadata: { name: string }; spec: WorkloadSpec }) => ({
      where: nameOf(kind, metadata),
      pod: spec.template.spec,
    })),
  )

export const containersOf = ({ initContainers = [], containers }: PodSpec): readonly Container[] => [
  ...initContainers,
  ...containers,
]

/** What a pod lacks of the Pod Security Standard "restricted", and of a root file system that can't be written, as what to set. */
export const restrictedProblems = (spec: PodSpec): readonly string[] => {
  const { runAsNonRoot, runAsUser, seccompProfile } = spec.securityContext ?? {}
  const shares = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true)
  const paths = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined)
  return [
    ...(runAsNonRoot === true ? [] : ['set securityContext.runAsNonRoot']),
    ...(runAsUser !== undefined && runAsUser > 0 ? [] : ['name a user by number in securityContext.runAsUser']),
    ...(seccompProfile?.type === 'RuntimeDefault' ? [] : ['set seccompProfile.type: RuntimeDefault']),
    ...shares.map((field) => `take out ${field}`),
    ...paths.map(({ name }) => `take out the hostPath of the volume ${name}`),
    ...containersOf(spec).flatMap((container) => {
      const problem = containerProblem(container)
      return problem === undefined ? [] : [`container ${container.name}: ${problem}`]
    }),
  ]
}

const containerProblem = ({ securityContext }: Container): string | undefined => {
  const { allowPrivilegeEscalation, privileged, readOnlyRootFilesystem, capabilities } = securityContext ?? {}
  if (privileged === true) return 'take out privileged'
  if (allowPrivilegeEscalation !== false) return 'set allowPrivilegeEscalation: false'
  if (readOnlyRootFilesystem !== true) return 'set readOnlyRootFilesystem: true'
  if (capabilities?.drop?.includes('ALL') !== true) return 'drop ALL capabilities'
  return (capabilities.add ?? []).length === 0 ? undefined : 'add no capabilities'
}

/** Pods run without rights on their node. SECURITY-5. */
export const podsCheck = defineCheck('pods', WORKLOAD_KINDS, (objects) =>
  workloadsOf(objects).flatMap(({ where, pod }) => {
    const problems = restrictedProblems(pod)
    const what = 'its pods have more rights on their node than those of the install'
    return problems.length === 0 ? [] : [{ line: LINES.pods, where, what, todo: problems.join('; ') }]
  }),
)

/** The namespace refuses other pods. SECURITY-5. */
export const namespaceCheck = defineCheck('namespace', ['Namespace'], ({ Namespace: namespaces }) => {
  const namespace = namespaces.find(({ metadata }) => metadata.name === NAMESPACE)
  const where = nameOf('Namespace', { name: NAMESPACE })
  if (namespace === undefined)
    return [{ line: LINES.pods, where, what: 'it is missing', todo: 'install Muster: docs/install.md' }]
  if (namespace.metadata.labels?.[POD_SECURITY_LABEL] === 'restricted') return []
  const todo = `kubectl label --overwrite namespace ${NAMESPACE} ${POD_SECURITY_LABEL}=restricted`
  return [{ line: LINES.pods, where, what: `it has no label ${POD_SECURITY_LABEL}=restricted`, todo }]
})

/** One command corrects all. */
const MAX_NAMED = 5

/** Those that an earlier release made have no level: pools write none on what is there. SECURITY-17. */
export const clusterNamespacesCheck = defineCheck('cluster-namespaces', ['Namespace'], ({ Namespace: namespaces }) =>
  namespaces
    .filter(isOfCluster)
    .filter(({ metadata: { labels = {} } }) => !['restricted', 'baseline'].includes(labels[POD_SECURITY_LABEL] ?? ''))
    .slice(0, MAX_NAMED)
    .map(({ metadata }) => ({
      line: LINES.clusterPods,
      where: nameOf('Namespace', { name: metadata.name }),
      what: `a pod there may have what its node has: its label ${POD_SECURITY_LABEL} is neither restricted nor baseline`,
      todo: `kubectl label --overwrite namespace --selector=${POOL_LABELS.uid} ${POD_SECURITY_LABEL}=restricted; with --dry-run=server it says which pods that would refuse. Where the manager of pools has --clusterpool-pod-security=privileged, all that it makes are named here: write baseline there, or restricted`,
    })),
)
