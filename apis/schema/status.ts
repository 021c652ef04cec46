import Type from 'typebox'
import { conditions } from './conditions.ts'

/** The fields that the status of every kind begins with. @param options of a kind whose manifests have `lastProbeTime` */
export const standardStatus = (options?: Parameters<typeof conditions>[0]) => ({
  observedGeneration: Type.Optional(
    Type.Integer({
      description: 'metadata.generation of the spec that this status speaks of.',
      format: 'int64',
      minimum: 0,
    }),
  ),
  conditions: Type.Optional(conditions(options)),
})

/** A number that only grows or is counted anew, never negative. */
export const count = (options: { description: string }) =>
  Type.Optional(Type.Integer({ format: 'int64', minimum: 0, ...options }))
