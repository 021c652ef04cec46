import type { Expression, ExpressionBuilder, SqlBool } from 'kysely'
import type { Requirement, Selector } from '#operator/model/selector.ts'
import type { Tenancy } from '../auth/tenancy.ts'
import type { Search, TextColumn, TextTest } from '../search/tree.ts'
import type { Tables } from './schema.ts'
import { sortedJson } from './step.ts'

/** Which resources of one kind a list is about. Everything here becomes a parameter of the query, never its text. */
export interface Filter {
  readonly kind: string
  readonly ownerId?: string
  /** Whose; anybody's when undefined. */
  readonly tenancy?: Tenancy | undefined
  readonly labels?: Selector
  readonly search?: Search
}

type Builder = ExpressionBuilder<Tables, 'resources'>
type Clause = Expression<SqlBool>

/** The filter as a WHERE clause. */
export const where =
  ({ kind, ownerId, tenancy, labels = [], search }: Filter) =>
  (builder: Builder): Clause =>
    builder.and([
      builder('kind', '=', kind),
      ...(ownerId === undefined ? [] : [builder('owner_id', '=', ownerId)]),
      ...(tenancy === undefined ? [] : [builder('tenancy', '=', sortedJson(tenancy))]),
      ...labels.map((requirement) => requirementClause(builder, kind, requirement)),
      ...(search === undefined ? [] : [searchClause(builder, kind, search)]),
    ])

/** Kubernetes' meaning: a resource without the label matches NotIn and DoesNotExist. */
const requirementClause = (builder: Builder, kind: string, requirement: Requirement): Clause => {
  const { key } = requirement
  switch (requirement.operator) {
    case 'In':
      return labelled(builder, kind, key, requirement.values)
    case 'NotIn':
      return builder.not(labelled(builder, kind, key, requirement.values))
    case 'Exists':
      return labelled(builder, kind, key)
    case 'DoesNotExist':
      return builder.not(labelled(builder, kind, key))
  }
}

/** `in (select …)` and not a correlated `exists`: both databases can then start from the index on labels. */
const labelled = (builder: Builder, kind: string, key: string, values?: readonly string[]): Clause =>
  builder('id', 'in', (inner) => {
    const rows = inner
      .selectFrom('resource_labels')
      .select('resource_id')
      .where('kind', '=', kind)
      .where('key', '=', key)
    return values === undefined ? rows : rows.where('value', 'in', values)
  })

type ConditionTest = Extract<Search, { readonly condition: string }>

const searchClause = (builder: Builder, kind: string, search: Search): Clause => {
  switch (search.type) {
    case 'and':
      return andClause(builder, kind, search.operands)
    case 'or':
      return builder.or(search.operands.map((operand) => searchClause(builder, kind, operand)))
    case 'not':
      return builder.not(searchClause(builder, kind, search.operand))
    case 'column':
      return textClause(builder, search.column, search.test)
    case 'label':
      return labelClause(builder, kind, search.key, search.test)
    case 'condition':
    case 'conditionTime':
    case 'conditionGeneration':
      return conditionClause(builder, kind, search.condition, [search])
  }
}

/** Tests of one same condition become one look at its index: "not ready since then" is a range there. */
const andClause = (builder: Builder, kind: string, operands: readonly Search[]): Clause => {
  const tests = operands.filter((operand) => 'condition' in operand)
  const others = operands.filter((operand) => !('condition' in operand))
  return builder.and([
    ...others.map((operand) => searchClause(builder, kind, operand)),
    ...[...Map.groupBy(tests, ({ condition }) => condition)].map(([condition, about]) =>
      conditionClause(builder, kind, condition, about),
    ),
  ])
}

const conditionClause = (builder: Builder, kind: string, condition: string, tests: readonly ConditionTest[]): Clause =>
  builder('id', 'in', (inner) => {
    const rows = inner
      .selectFrom('resource_conditions')
      .select('resource_id')
      .where('kind', '=', kind)
      .where('type', '=', condition)
    return rows.where((row) => row.and(tests.map((test) => conditionTest(row, test))))
  })

const conditionTest = (row: ExpressionBuilder<Tables, 'resource_conditions'>, test: ConditionTest): Clause => {
  switch (test.type) {
    case 'condition':
      return row('status', '=', test.status)
    case 'conditionTime':
      return row(test.column, test.operator, test.time)
    case 'conditionGeneration':
      return row('observed_generation', test.operator, test.generation)
  }
}

const textClause = (builder: Builder, column: TextColumn, test: TextTest): Clause =>
  test.operator === 'in' ? builder(column, 'in', test.values) : builder(column, test.operator, test.value)

/** The peer's meaning: every comparison, != too, holds only for a resource that has the label. */
const labelClause = (builder: Builder, kind: string, key: string, test: TextTest): Clause =>
  test.operator === '!='
    ? builder('id', 'in', (inner) =>
        inner
          .selectFrom('resource_labels')
          .select('resource_id')
          .where('kind', '=', kind)
          .where('key', '=', key)
          .where('value', '!=', test.value),
      )
    : labelled(builder, kind, key, test.operator === 'in' ? test.values : [test.value])
