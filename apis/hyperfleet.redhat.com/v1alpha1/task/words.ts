/** Pieces that several parts of a task are made of. */
import Type from 'typebox'
import { rules } from '#apis/schema/rule.ts'

/** Names become variables of expressions and templates. */
export const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*$'

/** Variables that every expression and template has. `resource` is the HyperFleet resource of the event, `params` all params and captures by name. */
export const PROVIDED = ['event', 'resource', 'params', 'adapter', 'config', 'env'] as const
/** There once the resources were looked at. */
export const RESOURCES = 'resources'
/** Words that CEL keeps for itself. cel-spec, langdef, RESERVED. */
const CEL_WORDS =
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  )
/** Types and name spaces of CEL. */
const CEL_NAMES = 'int uint double string bool bytes list map type null_type optional strings lists google cel'.split(
  ' ',
)
/** Names that params, captures, preconditions and payloads can't have: each becomes a variable beside these. */
export const RESERVED: readonly string[] = [...PROVIDED, RESOURCES, ...CEL_WORDS, ...CEL_NAMES]

const word = {
  rule: `self.matches('${VARIABLE}')`,
  message: 'must be a name that expressions can use: letters, digits and _, such as clusterId',
}
const unreserved = {
  rule: `!(self in [${RESERVED.map((name) => `'${name}'`).join(', ')}])`,
  message: `must not be one of the names that are there already, such as ${PROVIDED.join(', ')}, or a word of CEL: write another one`,
}

/** Of a resource: expressions know it as `resources.NAME`. */
export const resourceName = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 63, ...rules(word) })

/** Of what becomes a variable. */
export const variableName = (description: string) =>
  Type.String({ description, minLength: 1, maxLength: 63, ...rules(word, unreserved) })

export const template = (description: string) =>
  Type.String({ description: `${description} A template, such as {{ .clusterId }}.`, maxLength: 65536 })

export const expression = (description: string) =>
  Type.String({ description: `${description} CEL.`, minLength: 1, maxLength: 16384 })

/** `when: {expression: …}`, the form of the Go adapter. */
export const when = (description: string) =>
  Type.Optional(Type.Object({ expression: expression('Must give true or false.') }, { description }))

export const log = () =>
  Type.Optional(
    Type.Object(
      {
        message: Type.Optional(template('Text of the log line.')),
        level: Type.Optional(
          Type.Enum(['debug', 'info', 'warn', 'warning', 'error'], { description: 'How loud; info when left out.' }),
        ),
      },
      { description: 'A line in the log when this step runs.' },
    ),
  )

export const headers = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the header.', minLength: 1, maxLength: 256 }),
          value: template('Value of the header.'),
        },
        { description: 'One header.' },
      ),
      { description: 'Headers that are sent along.', maxItems: 32, 'x-kubernetes-list-type': 'atomic' },
    ),
  )

export const duration = (description: string) =>
  Type.Optional(
    Type.String({
      description,
      maxLength: 20,
      ...rules({
        rule: "self.matches('^([0-9]{1,6}([.][0-9]{1,3})?(ms|s|m|h))+$')",
        message: 'must be a duration such as 500ms, 10s or 5m',
      }),
    }),
  )

export const apiCall = (description: string) =>
  Type.Object(
    {
      method: Type.Optional(
        Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], { description: 'HTTP method; GET when left out.' }),
      ),
      url: template('A path of the HyperFleet API, with or without /api/hyperfleet/v1.'),
      timeout: duration('How long one try may take; hyperfleetAPI.timeout when left out.'),
      retry_attempts: Type.Optional(
        Type.Integer({ description: 'Tries in all; 3 when left out.', minimum: 0, maximum: 20 }),
      ),
      retry_backoff: Type.Optional(
        Type.Enum(['exponential', 'linear', 'constant'], {
          description: 'How the pause between tries grows; exponential when left out.',
        }),
      ),
      base_delay: duration('The first pause between tries; 1s when left out.'),
      max_delay: duration('The longest pause between tries; 30s when left out.'),
      body: Type.Optional(template('Body of the request.')),
      headers: headers(),
    },
    { description },
  )
