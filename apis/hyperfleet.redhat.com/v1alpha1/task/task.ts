/**
 * The language of adapter tasks as a schema: the fields of AdapterTask's spec that say what is done, and the check of task files.
 * The words are those of the Go adapter (`lifecycle`, `capture`); `when_deleting` and `delete_options` are Muster's: docs/spec/adapter.md.
 *
 * This folder alone under apis/ is used while the program runs: it imports TypeBox and nothing that the bundle leaves out.
 */
import Type, { type Static } from 'typebox'
import { params, preconditions } from './inputs.ts'
import { post } from './post.ts'
import { resources } from './resources.ts'
import { expression } from './words.ts'

export const taskFields = () => ({
  params: params(),
  preconditions: preconditions(),
  when_deleting: Type.Optional(
    expression(
      'When true, the resources are deleted in their order and nothing is applied. Default: the resource of the event has a deleted_time.',
    ),
  ),
  resources: resources(),
  post: post(),
})

const adapterFields = () =>
  Type.Object(
    {
      name: Type.String({
        description: 'Under which it reports, manages fields and labels what it applies.',
        minLength: 1,
        maxLength: 63,
      }),
      version: Type.Optional(Type.String({ description: 'For templates and reports.', maxLength: 63 })),
    },
    { description: 'The adapter that does the task.' },
  )

/** A task file: the task config of the Go adapter, and optionally the adapter that does it. */
export const taskFile = () =>
  Type.Object({ adapter: Type.Optional(adapterFields()), ...taskFields() }, { description: 'An adapter task.' })

export type TaskFields = Static<ReturnType<typeof taskFile>>
