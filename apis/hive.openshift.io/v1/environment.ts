import Type from 'typebox'
import { free } from '#apis/schema/free.ts'

/** Environment variables of the installer. Kubernetes: EnvVar. */
export const environment = () =>
  Type.Array(
    Type.Object(
      {
        name: Type.String({ description: 'The variable.', minLength: 1, maxLength: 253 }),
        value: Type.Optional(Type.String({ description: 'Its value.', maxLength: 32_768 })),
        valueFrom: Type.Optional(free({ description: 'Where its value comes from.' })),
      },
      { description: 'One variable.' },
    ),
    {
      description:
        'Environment variables for the installer. They may hold secrets, so the record in the HyperFleet API has none of them.',
      maxItems: 256,
      'x-kubernetes-list-type': 'atomic',
    },
  )
