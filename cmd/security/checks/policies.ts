import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '#operator/model/resource.ts'
import { LINES, type Line } from '../lines.ts'
import {
  type BindingSpec,
  defineCheck,
  type MatchResources,
  nameOf,
  type Objects,
  type Part,
  type PolicySpec,
  shippedOf,
} from '../model.ts'

/** What each policy of the install holds. */
const LINE_OF: Readonly<Record<string, Line>> = {
  'muster-assigned-claims': LINES.pools,
  'muster-assigned-clusters': LINES.pools,
  'muster-claim-owners': LINES.claimSubject,
  'muster-claim-subjects': LINES.claimGroups,
  'muster-claimed-clusters': LINES.confirmation,
  'muster-claimed-pools': LINES.confirmation,
  'muster-cluster-api': LINES.taskNamespaces,
  'muster-cluster-hosted': LINES.taskNamespaces,
  'muster-cluster-local': LINES.taskNamespaces,
  'muster-declared': LINES.commits,
  'muster-declared-replacements': LINES.commits,
  'muster-device-selection': LINES.devices,
  'muster-finalizers': LINES.steps,
  'muster-pool-admins': LINES.claimGroups,
  'muster-pool-bindings': LINES.poolBindings,
  'muster-pool-namespaces': LINES.poolNamespaces,
  'muster-pool-networks': LINES.poolNetworks,
  'muster-rollout-approvers': LINES.steps,
  'muster-rollout-steps': LINES.steps,
  'muster-task-accounts': LINES.taskAccount,
  'muster-task-files': LINES.taskAccount,
  'muster-task-namespaces': LINES.taskLabels,
  'muster-task-objects': LINES.taskPlaces,
  'muster-task-tokens': LINES.tokens,
  'muster-token-secrets': LINES.tokens,
}

/** Kubernetes: admissionregistration/v1, defaults of MatchResources. */
const matchWithDefaults = (match: MatchResources) => ({
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  ...match,
  resourceRules: match.resourceRules?.map((rule) => ({ scope: '*', ...rule })),
})

/** Fields of a policy as the API server fills them in. */
const withDefaults = ({ matchConstraints = {}, ...spec }: PolicySpec) => ({
  failurePolicy: 'Fail',
  ...spec,
  matchConstraints: matchWithDefaults(matchConstraints),
})

const lineOf = (policy: string): Line => LINE_OF[policy] ?? LINES.defences

type Seen = Pick<Objects, 'ValidatingAdmissionPolicy' | 'ValidatingAdmissionPolicyBinding' | 'ClusterRoleBinding'>

const named = <O extends KubeObject>(objects: readonly O[], name: string): O | undefined =>
  objects.find(({ metadata }) => metadata.name === name)

/** An optional part is one of the install when any of its objects is there. */
const isThere = ({ objects }: Part, seen: Seen): boolean =>
  (['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'ClusterRoleBinding'] as const).some((kind) =>
    objects[kind].some(({ metadata }) => named<KubeObject>(seen[kind], metadata.name) !== undefined),
  )

/** The parts that an install has, and so the policies that it must have. */
const partsOf = ([base, ...others]: readonly [Part, ...Part[]], seen: Seen): readonly Part[] => [
  base,
  ...others.filter((part) => isThere(part, seen)),
]

const ADMISSION_KINDS = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'ClusterRoleBinding'] as const

/** Every policy is as it is shipped: none of its fields is without effect on what it refuses. SECURITY-3. */
export const policiesCheck = defineCheck('admission-policies', ADMISSION_KINDS, (seen, shipped) =>
  partsOf(shipped, seen).flatMap(({ folder, objects }) =>
    objects.ValidatingAdmissionPolicy.flatMap(({ metadata: { name }, spec }) => {
      const found = named(seen.ValidatingAdmissionPolicy, name)
      if (found !== undefined && isDeepStrictEqual(withDefaults(found.spec), withDefaults(spec))) return []
      const what = found === undefined ? 'it is missing' : 'it is not as this release ships it'
      const where = nameOf('ValidatingAdmissionPolicy', { name })
      return [{ line: lineOf(name), where, what, todo: `apply it again from ${folder}` }]
    }),
  ),
)

const problemOf = (found: KubeObject<BindingSpec> | undefined, shipped: BindingSpec): string | undefined => {
  if (found === undefined) return 'it is missing, so its policy refuses nothing'
  const { spec } = found
  if (spec.policyName !== shipped.policyName) return `it is of the policy ${spec.policyName}`
  if (spec.validationActions?.includes('Deny') !== true) return 'its validationActions lack Deny'
  const isSame = isDeepStrictEqual(
    matchWithDefaults(spec.matchResources ?? {}),
    matchWithDefaults(shipped.matchResources ?? {}),
  )
  return isSame && spec.paramRef === undefined ? undefined : 'its matchResources or paramRef leave something out'
}

/** Every policy is in force for every object, and refuses. SECURITY-3. */
export const bindingsCheck = defineCheck('policy-bindings', ADMISSION_KINDS, (seen, shipped) =>
  shippedOf(partsOf(shipped, seen), 'ValidatingAdmissionPolicyBinding').flatMap(({ metadata: { name }, spec }) => {
    const what = problemOf(named(seen.ValidatingAdmissionPolicyBinding, name), spec)
    if (what === undefined) return []
    const where = nameOf('ValidatingAdmissionPolicyBinding', { name })
    return [{ line: lineOf(spec.policyName ?? ''), where, what, todo: 'apply it again, as this release ships it' }]
  }),
)
