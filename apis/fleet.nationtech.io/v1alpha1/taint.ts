/** What keeps Deployments off devices, and what lets them on in spite of it, as for Nodes. FLEET-33. */
import Type, { type Static } from 'typebox'
import { rules } from '#apis/schema/rule.ts'

const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const KEY = `^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${NAME}$`

/** NoSchedule: nothing new comes. NoExecute: what is there goes as well. Kubernetes: TaintEffect. */
const EFFECTS = ['NoSchedule', 'NoExecute'] as const

const key = (description: string) => Type.String({ description, minLength: 1, maxLength: 317, pattern: KEY })
const value = () => Type.String({ description: 'Its value.', maxLength: 63, pattern: `^(${NAME})?$` })

const taint = () =>
  Type.Object(
    {
      key: key('Name of the taint, such as example.com/maintenance.'),
      value: Type.Optional(value()),
      effect: Type.Enum([...EFFECTS], {
        description: 'NoSchedule: nothing on the device changes. NoExecute: what is on it is removed as well.',
      }),
      timeAdded: Type.Optional(
        Type.String({
          description: 'Since when: tolerationSeconds are counted from it. Always, when absent.',
          format: 'date-time',
        }),
      ),
    },
    { description: 'One reason to keep Deployments off.' },
  )

export const taints = (options: { description: string }) =>
  Type.Optional(
    Type.Array(taint(), {
      maxItems: 16,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key', 'effect'],
      ...options,
    }),
  )

const toleration = () =>
  Type.Object(
    {
      key: Type.Optional(key('The taint; every one when absent.')),
      operator: Type.Enum(['Equal', 'Exists'], {
        description: 'Whether the value must be the same, or any will do.',
        default: 'Equal',
      }),
      value: Type.Optional(value()),
      effect: Type.Optional(Type.Enum([...EFFECTS], { description: 'The effect; both when absent.' })),
      tolerationSeconds: Type.Optional(
        Type.Integer({
          description:
            'How long a taint with the effect NoExecute is borne, in seconds from its beginning; for ever when absent.',
          format: 'int64',
          minimum: 0,
        }),
      ),
    },
    {
      description: 'One kind of taint that is borne.',
      ...rules(
        {
          rule: "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
          message: 'key may be left out only with the operator Exists, which then bears every taint',
        },
        {
          rule: "!has(self.value) || !has(self.operator) || self.operator == 'Equal'",
          message: 'value is for the operator Equal: leave it out, or write operator: Equal',
        },
        {
          rule: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
          message: 'tolerationSeconds is for the effect NoExecute: write effect: NoExecute beside it',
        },
      ),
    },
  )

export const tolerations = (options: { description: string }) =>
  Type.Optional(Type.Array(toleration(), { maxItems: 16, 'x-kubernetes-list-type': 'atomic', ...options }))

export type Taint = Static<ReturnType<typeof taint>>
export type Toleration = Static<ReturnType<typeof toleration>>
