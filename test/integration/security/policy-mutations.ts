import type { Any, Mutation } from './mutation.ts'

const policies = (title: string, name: string, change: (spec: Any) => Any): Mutation => ({
  title,
  reports: ['admission-policies'],
  edits: [
    {
      kind: 'ValidatingAdmissionPolicy',
      name,
      change: (object) => ({ ...object, spec: change(structuredClone(object.spec)) }),
    },
  ],
})

export const POLICY_MUTATIONS: readonly Mutation[] = [
  policies('a policy that is not asked when it fails', 'muster-task-accounts', (spec) => ({
    ...spec,
    failurePolicy: 'Ignore',
  })),
  policies('a policy with a way around it', 'muster-task-tokens', (spec) => ({
    ...spec,
    matchConditions: [
      ...spec.matchConditions,
      { name: 'not-mine', expression: "request.userInfo.username != 'mallory'" },
    ],
  })),
  policies('a policy that looks at some namespaces', 'muster-claim-owners', (spec) => ({
    ...spec,
    matchConstraints: { ...spec.matchConstraints, namespaceSelector: { matchLabels: { watched: 'true' } } },
  })),
  policies('a policy that leaves out an operation', 'muster-assigned-clusters', (spec) => {
    const [rule] = spec.matchConstraints.resourceRules
    return {
      ...spec,
      matchConstraints: { ...spec.matchConstraints, resourceRules: [{ ...rule, operations: ['UPDATE'] }] },
    }
  }),
  {
    title: 'a policy that is gone',
    reports: ['admission-policies'],
    edits: [{ kind: 'ValidatingAdmissionPolicy', name: 'muster-token-secrets', change: 'delete' }],
  },
  {
    title: 'a policy that only warns',
    reports: ['policy-bindings'],
    edits: [
      {
        kind: 'ValidatingAdmissionPolicyBinding',
        name: 'muster-task-files',
        change: (object) => ({ ...object, spec: { ...object.spec, validationActions: ['Warn'] } }),
      },
    ],
  },
  {
    title: 'a policy that is in force in one namespace',
    reports: ['policy-bindings'],
    edits: [
      {
        kind: 'ValidatingAdmissionPolicyBinding',
        name: 'muster-finalizers',
        change: (object) => ({
          ...object,
          spec: { ...object.spec, matchResources: { namespaceSelector: { matchLabels: { watched: 'true' } } } },
        }),
      },
    ],
  },
  {
    title: 'a policy without its binding',
    reports: ['policy-bindings'],
    edits: [{ kind: 'ValidatingAdmissionPolicyBinding', name: 'muster-rollout-steps', change: 'delete' }],
  },
]
