import Type, { type TObject } from 'typebox'
import { rules } from './rule.ts'

/** Kubernetes: labels, syntax and character set. */
const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const KEY = `^(${DNS_LABEL}([.]${DNS_LABEL})*/)?${NAME}$`
const VALUE = `^(${NAME})?$`

const KEY_RULE =
  'must be a label key: letters, digits, - _ and . (63 at most), with an optional DNS prefix before a slash'
const VALUE_RULE =
  'must be a label value: letters, digits, - _ and . (63 at most), beginning and ending with a letter or digit'

const value = () => Type.String({ description: 'A label value.', maxLength: 63 })

const expression = () =>
  Type.Object(
    {
      key: Type.String({
        description: 'The label key that is looked at.',
        minLength: 1,
        maxLength: 317,
        ...rules({ rule: `self.matches('${KEY}')`, message: KEY_RULE }),
      }),
      operator: Type.Enum(['In', 'NotIn', 'Exists', 'DoesNotExist'], {
        description:
          'How the label relates to the values. NotIn and DoesNotExist also match resources without the label.',
      }),
      values: Type.Optional(
        Type.Array(value(), {
          description: 'The values that In and NotIn compare with; absent for Exists and DoesNotExist.',
          maxItems: 64,
          'x-kubernetes-list-type': 'atomic',
          ...rules({
            rule: `self.all(value, value.matches('${VALUE}'))`,
            message: VALUE_RULE,
            messageExpression: `'"' + self.filter(value, !value.matches('${VALUE}'))[0] + '" ${VALUE_RULE}'`,
          }),
        }),
      ),
    },
    {
      description: 'One requirement on one label.',
      ...rules(
        {
          rule: "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
          message: 'values must hold at least one value when operator is In or NotIn',
        },
        {
          rule: "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
          message: 'values must be left out when operator is Exists or DoesNotExist',
        },
      ),
    },
  )

/** A label selector as Kubernetes writes it; matchLabels and matchExpressions must all hold, nothing given matches everything. */
export const labelSelector = (options: { description: string }) =>
  Type.Object(
    {
      matchLabels: Type.Optional(
        Type.Record(Type.String(), value(), {
          description: 'Labels that must be there with exactly these values.',
          maxProperties: 32,
          ...rules(
            {
              rule: `self.all(key, size(key) <= 317 && key.matches('${KEY}'))`,
              message: KEY_RULE,
              messageExpression: `'"' + self.filter(key, size(key) > 317 || !key.matches('${KEY}'))[0] + '" ${KEY_RULE}'`,
            },
            {
              rule: `self.all(key, self[key].matches('${VALUE}'))`,
              message: VALUE_RULE,
              messageExpression: `'"' + self[self.filter(key, !self[key].matches('${VALUE}'))[0]] + '" ${VALUE_RULE}'`,
            },
          ),
        }),
      ),
      matchExpressions: Type.Optional(
        Type.Array(expression(), {
          description: 'Requirements that must all hold.',
          maxItems: 16,
          'x-kubernetes-list-type': 'atomic',
        }),
      ),
    },
    { 'x-kubernetes-map-type': 'atomic', ...options },
  ) satisfies TObject
