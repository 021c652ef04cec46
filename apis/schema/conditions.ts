import Type from 'typebox'

/** What Hive and older Kubernetes write besides; nothing reads it (POOL-54). */
const lastProbeTime = () =>
  Type.Optional(
    Type.String({ description: 'When it was last looked at; nothing acts on it here.', format: 'date-time' }),
  )

const condition = ({ isProbed }: { readonly isProbed: boolean }) =>
  Type.Object(
    {
      ...((isProbed ? { lastProbeTime: lastProbeTime() } : {}) as object),
      type: Type.String({ description: 'Name of the condition, in CamelCase.', minLength: 1, maxLength: 316 }),
      status: Type.Enum(['True', 'False', 'Unknown'], { description: 'Whether it holds.' }),
      observedGeneration: Type.Optional(
        Type.Integer({
          description: 'metadata.generation of the spec that this condition was set for.',
          format: 'int64',
          minimum: 0,
        }),
      ),
      lastTransitionTime: Type.String({ description: 'When status last changed.', format: 'date-time' }),
      reason: Type.String({ description: 'Why, as one CamelCase word for programs.', minLength: 1, maxLength: 1024 }),
      message: Type.String({ description: 'Why, as a sentence for people.', maxLength: 32768 }),
    },
    { description: 'One aspect of the state. Kubernetes: metav1.Condition.' },
  )

/** The conditions of a status, merged by type so that several writers can share the list. Kubernetes: API conventions, kstatus. */
export const conditions = (options: { readonly isProbed: boolean } = { isProbed: false }) =>
  Type.Array(condition(options), {
    description:
      'State as kstatus reads it: of Ready, Reconciling and Stalled exactly one is True once the object was observed.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })
