/** The workload of a Deployment: what each of its devices runs. */
import Type, { type Static } from 'typebox'
import { span } from '#apis/schema/duration.ts'
import { freeObject } from '#apis/schema/free.ts'
import { rules } from '#apis/schema/rule.ts'

/** What agents can run. */
export const WORKLOADS = ['KubernetesManifests', 'Process'] as const

const text = (options: { description: string; maxLength: number; minLength?: number }) => Type.String(options)

const data = () =>
  Type.Object(
    {
      manifests: Type.Optional(
        Type.Array(freeObject({ description: 'One Kubernetes object.' }), {
          description: 'For KubernetesManifests: the objects that are applied; those that leave the list are deleted.',
          minItems: 1,
          maxItems: 256,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      command: Type.Optional(
        Type.Array(text({ description: 'A word.', maxLength: 4_096 }), {
          description: 'For Process: the program, as a path or a name, and its arguments; no shell reads it.',
          minItems: 1,
          maxItems: 64,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
      env: Type.Optional(
        Type.Record(Type.String(), text({ description: 'A value.', maxLength: 4_096 }), {
          description: 'For Process: environment variables, besides PATH and HOME.',
          maxProperties: 64,
        }),
      ),
      workingDirectory: Type.Optional(
        text({ description: 'For Process: where it runs.', minLength: 1, maxLength: 1_024 }),
      ),
      stopTimeout: Type.Optional(
        span({ description: 'For Process: how long it may take to stop before it is killed; 10s when absent.' }),
      ),
    },
    { description: 'The workload; which fields belong here follows from type.' },
  )

/** `{type, data}`: the type says which fields of data there must be. */
export const score = () =>
  Type.Object(
    {
      type: Type.Enum([...WORKLOADS], { description: 'Kind of the workload.' }),
      templated: Type.Optional(
        Type.Boolean({
          description:
            'Whether the texts of data are Go templates over `.device.name`, `.device.labels` and `.device.inventory`. A key that a device lacks is an error on that device.',
        }),
      ),
      data: data(),
    },
    {
      description: 'Workload that every matched device runs.',
      ...rules(
        {
          rule: "has(self.data.manifests) == (self.type == 'KubernetesManifests')",
          message: 'data.manifests must be given for the type KubernetesManifests, and only for it',
        },
        {
          rule: "has(self.data.command) == (self.type == 'Process')",
          message: 'data.command must be given for the type Process, and only for it',
        },
        {
          rule: "self.type == 'Process' || (!has(self.data.env) && !has(self.data.workingDirectory) && !has(self.data.stopTimeout))",
          message:
            'data.env, data.workingDirectory and data.stopTimeout are for the type Process alone: leave them out',
        },
      ),
    },
  )

export type Score = Static<ReturnType<typeof score>>
