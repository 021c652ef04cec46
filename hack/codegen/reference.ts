import { CATEGORY, objectSchema, wideColumns } from '#apis/schema/definition.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import type { StructuralSchema } from '#apis/schema/structural.ts'
import { apiVersionOf } from '#operator/model/resource.ts'
import { type GeneratedFile, NOTICE } from './generated.ts'
import { cell, row } from './table.ts'

interface Field {
  readonly path: string
  readonly schema: StructuralSchema
  readonly required: boolean
}

/** Fields in the order of the schema, parents before their children: `spec`, `spec.a`, `spec.a.b[]`, `spec.labels.*`. */
const fieldsOf = (path: string, schema: StructuralSchema, required: boolean): Field[] => [
  { path, schema, required },
  ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    fieldsOf(`${path}.${name}`, child, schema.required?.includes(name) ?? false),
  ),
  ...(schema.items === undefined ? [] : fieldsOf(`${path}[]`, schema.items, false)),
  ...(schema.additionalProperties === undefined ? [] : fieldsOf(`${path}.*`, schema.additionalProperties, false)),
]

const typeOf = (schema: StructuralSchema): string => {
  if (schema.items !== undefined) return `${typeOf(schema.items)}[]`
  if (schema.additionalProperties !== undefined) return `map of ${typeOf(schema.additionalProperties)}`
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or percentage'
  return schema.format === 'date-time' ? 'time (RFC 3339)' : (schema.type ?? 'any')
}

const range = (unit: string, least: number | undefined, most: number | undefined): string[] => {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`]
  if (least !== undefined) return [`at least ${least}${unit}`]
  return most === undefined ? [] : [`at most ${most}${unit}`]
}

const rulesOf = ({ schema, required }: Field): string[] => [
  ...(required ? ['required'] : []),
  ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map((value) => `\`${value}\``).join(', ')}`]),
  ...range('', schema.minimum, schema.maximum),
  ...range(' characters', schema.minLength, schema.maxLength),
  ...range(' items', schema.minItems, schema.maxItems),
  ...range(' entries', schema.minProperties, schema.maxProperties),
  ...(schema['x-kubernetes-validations'] ?? []).map(({ message }) => message),
]

const fieldTable = (fields: readonly Field[]): string =>
  [
    row('Field', 'Type', 'Default', 'Rules', 'Description'),
    row('---', '---', '---', '---', '---'),
    ...fields.map((field) =>
      row(
        `\`${field.path}\``,
        typeOf(field.schema),
        field.schema.default === undefined ? '' : `\`${JSON.stringify(field.schema.default)}\``,
        cell(rulesOf(field).join('; ')),
        cell(field.schema.description ?? ''),
      ),
    ),
  ].join('\n')

const section = (kind: CustomKind): string => {
  const { resource } = kind
  const { spec, status } = objectSchema(kind).properties ?? {}
  return [
    `## ${resource.kind}`,
    kind.description,
    [
      row('', ''),
      row('---', '---'),
      row('apiVersion', `\`${apiVersionOf(resource)}\``),
      row('kubectl name', `\`${resource.plural}\``),
      row('short names', kind.shortNames.map((name) => `\`${name}\``).join(', ')),
      row('scope', resource.scope),
      row('columns', kind.columns.map(({ name }) => name).join(', ')),
      ...wideRow(kind),
      row('field selectors', kind.selectableFields.map((path) => `\`${path.slice(1)}\``).join(', ')),
    ].join('\n'),
    ...(spec === undefined ? [] : [fieldTable(fieldsOf('spec', spec, true))]),
    ...(status === undefined ? [] : [fieldTable(fieldsOf('status', status, false))]),
  ].join('\n\n')
}

const wideRow = (kind: CustomKind): readonly string[] => {
  const columns = wideColumns(kind)
  return columns.length === 0 ? [] : [row('with `-o wide`', columns.map(({ name }) => name).join(', '))]
}

const INTRODUCTION = `# Custom resources

Every kind of Muster, with the rules that the API server enforces. \`kubectl explain KIND.spec\` shows the same text,
\`kubectl get ${CATEGORY}\` lists the objects of all of them.

A short name may belong to another kind too: \`sc\` means StorageClass to kubectl, so write \`kubectl get sentinelconfigs\`.`

/** The reference page of all kinds. */
export const referenceFile = (kinds: readonly CustomKind[]): GeneratedFile => ({
  path: 'docs/reference/crds.md',
  text: `<!-- ${NOTICE} -->\n${[INTRODUCTION, ...kinds.map(section)].join('\n\n')}\n`,
})
