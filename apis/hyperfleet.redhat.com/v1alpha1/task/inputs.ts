/** What a run begins with: params and preconditions. */
import Type from 'typebox'
import { free } from '#apis/schema/free.ts'
import { rules } from '#apis/schema/rule.ts'
import { apiCall, expression, log, template, variableName } from './words.ts'

const source = () =>
  free(
    {
      description:
        'Where the value comes from: a path (event.id, env.NAME, config.adapter.name, or an earlier param and a path in it), or one of {api_call}, {expression}, {file}.',
    },
    Type.String({ minLength: 1 }),
    Type.Object({ api_call: apiCall('A request whose answer is the value.') }),
    Type.Object({ expression: expression('Gives the value.') }),
    Type.Object({
      file: Type.Object({
        path: Type.String({ description: 'Absolute path.', minLength: 1 }),
        trim: Type.Optional(Type.Boolean({ description: 'Without white space around it.' })),
      }),
    }),
  )

/** The names of the Go adapter, in Go's words. */
const PARAM_TYPES = ['string', 'int', 'int64', 'float', 'float64', 'bool'] as const

export const params = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: variableName('Under which the value is known to everything that follows.'),
          source: source(),
          type: Type.Optional(Type.Enum([...PARAM_TYPES], { description: 'Type that a text is converted to.' })),
          default: Type.Optional(free({ description: 'Used when the source gives nothing.' })),
          required: Type.Optional(Type.Boolean({ description: 'Without it the run fails.' })),
          description: Type.Optional(Type.String({ description: 'For readers.' })),
        },
        { description: 'A named value.' },
      ),
      {
        description: 'Named values, read in this order at the start of each run.',
        maxItems: 64,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    ),
  )

export const OPERATORS = [
  'equals',
  'notEquals',
  'in',
  'notIn',
  'contains',
  'greaterThan',
  'greaterThanOrEqual',
  'lessThan',
  'lessThanOrEqual',
  'exists',
  'notExists',
] as const

const condition = () =>
  Type.Object(
    {
      field: Type.String({ description: 'A variable and a path in it, such as cluster.generation.', minLength: 1 }),
      operator: Type.Enum([...OPERATORS], { description: 'How the field relates to the value.' }),
      value: Type.Optional(free({ description: 'Value that the field is compared with.' })),
      values: Type.Optional(
        free({ description: 'Values that in and notIn compare with.' }, Type.Array(Type.Unknown())),
      ),
    },
    { description: 'One requirement on one variable.' },
  )

const captured = () =>
  Type.Object(
    {
      name: variableName('Under which the value is known to everything that follows.'),
      field: Type.Optional(
        template('A path in the answer: status.phase, or JSONPath such as {.items[?(@.type=="Ready")].status}.'),
      ),
      expression: Type.Optional(expression('Gives the value; the answer’s fields are variables.')),
      default: Type.Optional(free({ description: 'Used when there is nothing.' })),
    },
    {
      description: 'A value taken out of an answer.',
      ...rules({
        rule: 'has(self.field) != has(self.expression)',
        message: 'must have either field or expression',
      }),
    },
  )

export const preconditions = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: variableName('Names the answer of api_call for everything that follows.'),
          api_call: Type.Optional(apiCall('A request whose answer is looked at. A param with api_call does the same.')),
          capture: Type.Optional(
            Type.Array(captured(), {
              description: 'Values taken out of the answer.',
              maxItems: 64,
              'x-kubernetes-list-type': 'atomic',
            }),
          ),
          conditions: Type.Optional(
            Type.Array(condition(), {
              description: 'All must hold.',
              maxItems: 32,
              'x-kubernetes-list-type': 'atomic',
            }),
          ),
          expression: Type.Optional(expression('Must give true.')),
          log: log(),
        },
        {
          description: 'Something that must hold.',
          ...rules({
            rule: 'has(self.api_call) || has(self.conditions) || has(self.expression)',
            message: 'must have at least one of api_call, conditions and expression',
          }),
        },
      ),
      {
        description: 'Conditions that must hold before anything is applied or deleted, checked in this order.',
        maxItems: 32,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    ),
  )
