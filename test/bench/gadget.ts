/** The kind that every contestant of the runtime benches serves, as small as the work allows. */
import { defineResource } from '#operator/model/resource.ts'

export interface GadgetSpec {
  readonly size: number
  /** Weight for the cache bench; absent elsewhere. */
  readonly payload?: Readonly<Record<string, string>>
}

export interface GadgetCondition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
  /** RFC 3339, UTC. */
  readonly lastTransitionTime: string
}

export interface GadgetStatus {
  readonly observedGeneration?: number
  readonly conditions?: readonly GadgetCondition[]
}

export const Gadget = defineResource<GadgetSpec, GadgetStatus>({
  group: 'bench.muster.io',
  version: 'v1',
  plural: 'gadgets',
  kind: 'Gadget',
  scope: 'Namespaced',
  subresources: ['status'],
})

/** The finalizer of every contestant: they follow one another on the same objects. */
export const FINALIZER = 'bench.muster.io/gadget'

const condition = {
  type: 'object',
  required: ['type', 'status'],
  properties: {
    type: { type: 'string' },
    status: { type: 'string' },
    reason: { type: 'string' },
    message: { type: 'string' },
    observedGeneration: { type: 'integer' },
    lastTransitionTime: { type: 'string', format: 'date-time' },
  },
}

/** The CustomResourceDefinition to create before a bench. */
export const gadgetCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${Gadget.plural}.${Gadget.group}` },
  spec: {
    group: Gadget.group,
    scope: Gadget.scope,
    names: { plural: Gadget.plural, singular: 'gadget', kind: Gadget.kind, listKind: 'GadgetList' },
    versions: [
      {
        name: Gadget.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer' },
                  payload: { type: 'object', additionalProperties: { type: 'string' } },
                },
              },
              status: {
                type: 'object',
                properties: {
                  observedGeneration: { type: 'integer' },
                  conditions: { type: 'array', items: condition },
                },
              },
            },
          },
        },
      },
    ],
  },
} as const
