import Type, { type Static } from 'typebox'
import { free } from '#apis/schema/free.ts'
import { rules } from '#apis/schema/rule.ts'

/** A JSON Pointer; its first slash may be missing: POOL-44. */
const POINTER = '^([^~]|~[01])*$'
const POINTER_RULE = 'must be a JSON Pointer such as /metadata/name, with ~0 for ~ and ~1 for / inside a name'

const patch = () =>
  Type.Object(
    {
      op: Type.Enum(['add', 'remove', 'replace', 'move', 'copy', 'test'], {
        description: 'Operation of the patch. RFC 6902, section 4.',
      }),
      path: Type.String({
        description:
          'Where, as a JSON Pointer: /metadata/name. Without its first slash it is understood, and an event says so.',
        maxLength: 1024,
        ...rules({ rule: `self.matches('${POINTER}')`, message: POINTER_RULE }),
      }),
      from: Type.Optional(
        Type.String({
          description: 'Where a move or a copy takes the value from, as a JSON Pointer.',
          maxLength: 1024,
          ...rules({ rule: `self.matches('${POINTER}')`, message: POINTER_RULE }),
        }),
      ),
      value: Type.Optional(free({ description: 'The value that add, replace and test take: any JSON.' })),
      valueJSON: Type.Optional(
        Type.String({
          description: 'The value as JSON text, as Hive has it; value is the better way to write it.',
          maxLength: 65_536,
        }),
      ),
    },
    {
      description: 'One operation of a JSON Patch. RFC 6902.',
      ...rules(
        {
          rule: "(self.op in ['move', 'copy']) == has(self.from)",
          message: 'from must be given for move and copy, and only for them',
        },
        {
          rule: "!has(self.valueJSON) || self.op in ['add', 'replace', 'test']",
          message: 'valueJSON is for add, replace and test: leave it out',
        },
      ),
    },
  )

/** A JSON Patch as a list of operations. */
export const patches = (options: { description: string }) =>
  Type.Array(patch(), { ...options, maxItems: 256, 'x-kubernetes-list-type': 'atomic' })

export type Patch = Static<ReturnType<typeof patch>>
