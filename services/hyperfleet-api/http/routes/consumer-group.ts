import Type, { type Static } from 'typebox'

const GROUP_NAME = Type.Object({
  name: Type.String({
    pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
    description: 'At most 63 lower case letters, digits and inner hyphens.',
    examples: ['dns'],
  }),
})

/** What operations on a consumer group have in common: where it is served, and that its caller acts for it. */
export const GROUP = {
  path: '/events/consumers/{name}',
  parameters: GROUP_NAME,
  tag: 'Events',
  role: 'adapter',
  actsFor: ({ parameters: { name } }: { readonly parameters: Static<typeof GROUP_NAME> }) =>
    ({ kind: 'consumer', name }) as const,
} as const
