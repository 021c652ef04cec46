import type { CustomKind } from './kind.ts'
import { rules } from './rule.ts'
import { SchemaError, type StructuralSchema, structural } from './structural.ts'

/** Every kind of ours is listed by `kubectl get muster`. */
export const CATEGORY = 'muster'

/** The CustomResourceDefinition of a kind. Kubernetes: apiextensions.k8s.io/v1. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'CustomResourceDefinition'
  readonly metadata: { readonly name: string }
  readonly spec: object
}

/** The schema of a whole object of this kind: what `kubectl explain` shows. */
export const objectSchema = (kind: CustomKind): StructuralSchema => ({
  type: 'object',
  description: kind.description,
  required: ['spec'],
  ...(kind.rules !== undefined && rules(...kind.rules)),
  properties: {
    apiVersion: { type: 'string', description: 'Group and version of the schema of this object.' },
    kind: { type: 'string', description: 'Which kind of object this is.' },
    metadata: { type: 'object' },
    spec: structural(kind.spec, 'spec'),
    status: structural(kind.status, 'status'),
  },
})

const scaleOf = ({ resource, scale }: CustomKind): object => {
  if (scale === undefined) throw new SchemaError(resource.kind, 'has the subresource scale but says no paths for it')
  return { specReplicasPath: scale.spec, statusReplicasPath: scale.status }
}

/** Why an object is not Ready, for `kubectl get -o wide` of every kind that has conditions: nothing has to be described first. */
export const wideColumns = (kind: CustomKind): readonly { readonly name: string }[] => {
  const { properties = {} } = structural(kind.status, 'status')
  if (!('conditions' in properties)) return []
  const wide = (name: string, field: string, description: string) => ({
    name,
    type: 'string',
    priority: 1,
    description,
    jsonPath: `.status.conditions[?(@.type=="Ready")].${field}`,
  })
  return [
    wide('Reason', 'reason', 'The reason of the condition Ready.'),
    wide('Message', 'message', 'Its message: what it waits for, or what to write instead.'),
  ]
}

/** The manifest that teaches an API server this kind. */
export const definition = (kind: CustomKind): CustomResourceDefinition => {
  const { group, version, plural, kind: name, scope, subresources } = kind.resource
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: {
        kind: name,
        listKind: `${name}List`,
        plural,
        singular: name.toLowerCase(),
        shortNames: kind.shortNames,
        categories: [CATEGORY],
      },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: Object.fromEntries(
            subresources.map((subresource) => [subresource, subresource === 'scale' ? scaleOf(kind) : {}]),
          ),
          additionalPrinterColumns: [
            ...kind.columns.map(({ path, ...column }) => ({ ...column, jsonPath: path })),
            ...wideColumns(kind),
          ],
          // The API server keeps no empty list, and the next apply of the definition would be told of a conflict.
          ...(kind.selectableFields.length > 0 && {
            selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })),
          }),
          schema: { openAPIV3Schema: objectSchema(kind) },
        },
      ],
    },
  }
}
