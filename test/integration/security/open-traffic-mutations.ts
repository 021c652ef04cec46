/** Network policies that let in everything without saying so, each of which `muster security check` has to report. */
import type { Mutation } from './mutation.ts'

const RULES: readonly (readonly [title: string, from: readonly object[]])[] = [
  ['halves of all addresses', ['0.0.0.0/1', '128.0.0.0/1'].map((cidr) => ({ ipBlock: { cidr } }))],
  ['pods of every namespace', [{ namespaceSelector: {} }]],
  [
    'pods of every namespace with a label of their choice',
    [{ namespaceSelector: {}, podSelector: { matchLabels: { a: 'b' } } }],
  ],
]

export const OPEN_TRAFFIC_MUTATIONS: readonly Mutation[] = RULES.map(([title, from]) => ({
  title: `a policy that lets in ${title}`,
  reports: ['open-traffic'],
  edits: [
    {
      kind: 'NetworkPolicy',
      create: {
        metadata: { name: 'weak', namespace: 'hyperfleet-system' },
        spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from }] },
      },
    },
  ],
}))
