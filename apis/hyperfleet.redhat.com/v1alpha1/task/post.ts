/** What a run ends with: payloads and what is sent. */
import Type from 'typebox'
import { free } from '#apis/schema/free.ts'
import { apiCall, log, variableName, when } from './words.ts'

const payloads = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: variableName('Under which templates know it, as JSON text: {{ .name }}.'),
          when: when('It is built only when this is true; actions that send it are skipped with it.'),
          build: Type.Optional(
            free({
              description:
                'The payload: texts are templates, and {field, default} or {expression, default} stand for the values they give.',
            }),
          ),
          build_ref: Type.Optional(Type.String({ description: 'A file that holds build.', minLength: 1 })),
          when_deleting: Type.Optional(
            free({ description: 'Built in deletion mode instead of build, and written in the same way.' }),
          ),
        },
        {
          description: 'A document that is built from what the run has found.',
        },
      ),
      {
        description: 'Documents that are built after the resources, in this order.',
        maxItems: 32,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    ),
  )

const actions = () =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Names the action in traces.', minLength: 1, maxLength: 63 }),
          when: when('It is done only when this is true.'),
          log: log(),
          api_call: Type.Optional(apiCall('The request.')),
        },
        { description: 'Something that is done at the end.' },
      ),
      {
        description: 'Requests and log lines at the end, in this order; the first failure ends it.',
        maxItems: 32,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    ),
  )

export const post = () =>
  Type.Optional(
    Type.Object(
      { payloads: payloads(), post_actions: actions() },
      { description: 'Payloads and actions at the end of the run. Left out: the standard report is sent.' },
    ),
  )
