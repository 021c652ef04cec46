/** Reads params and preconditions. */
import { nearest } from '#lib/text/nearest.ts'
import { nameProblem, PROVIDED } from '../compile/variable-names.ts'
import type { RawCapture, RawCondition, RawParam, RawPrecondition, RawSource } from '../raw-task.ts'
import type { Capture, Condition, Json, Param, ParamSource, Precondition } from '../task.ts'
import { readCall, readLog } from './calls.ts'
import type { FieldCursor } from './field-cursor.ts'

/** The fields of a reconcile event, which files of the Go adapter name without `event.` before them. */
const EVENT_FIELDS = ['id', 'kind', 'href', 'generation', 'reason', 'owner_references']

export const readParams = (cursor: FieldCursor, raw: readonly RawParam[] = []): readonly Param[] =>
  raw.map((param, index) => {
    const here = cursor.item(index)
    const read: Param = {
      name: param.name,
      source: readSource(here.at('source'), param.source as RawSource),
      type: param.type,
      default: param.default as Json | undefined,
      required: param.required ?? false,
    }
    declareName(here, param.name)
    return read
  })

/** From here on the name is known. */
const declareName = (cursor: FieldCursor, name: string): void => {
  checkName(cursor, name)
  cursor.names.add(name)
}

const checkName = (cursor: FieldCursor, name: string): void => {
  const problem = nameProblem(name)
  if (problem !== undefined) cursor.at('name').problem(problem)
}

const readSource = (cursor: FieldCursor, source: RawSource): ParamSource => {
  if (typeof source === 'string') return readPath(cursor, source)
  if ('api_call' in source) return { kind: 'apiCall', call: readCall(cursor.at('api_call'), source.api_call) }
  if ('expression' in source)
    return { kind: 'expression', expression: cursor.at('expression').expression(source.expression) }
  const { path, trim = false } = source.file
  if (!path.startsWith('/')) cursor.at('file.path').problem(`${path} is not absolute: begin it with /`)
  return { kind: 'file', path, trim }
}

const readPath = (cursor: FieldCursor, text: string): ParamSource => {
  const path = text.split('.')
  const [root = ''] = path
  if (path.includes('')) cursor.problem(`${JSON.stringify(text)} has an empty part: write a path such as event.id`)
  if (root === 'env') {
    if (path.length !== 2) cursor.problem(`${text} names no variable: write env.NAME`)
    return { kind: 'env', variable: path.slice(1).join('.') }
  }
  if (cursor.names.has(root)) return { kind: 'path', path }
  if (EVENT_FIELDS.includes(root)) return { kind: 'path', path: ['event', ...path] }
  const choices = [...PROVIDED, ...cursor.names.all, ...EVENT_FIELDS.map((field) => `event.${field}`)]
  const near = nearest(text, choices)
  const hint = near === undefined ? `write one of ${[...new Set(choices)].join(', ')}` : `did you mean ${near}?`
  cursor.problem(`there is no ${text} to take the value from: ${hint}`)
  return { kind: 'path', path }
}

export const readPreconditions = (cursor: FieldCursor, raw: readonly RawPrecondition[] = []): readonly Precondition[] =>
  raw.map((precondition, index) => {
    const here = cursor.item(index)
    const { name, api_call, capture = [], conditions = [], expression, log } = precondition
    const call = api_call === undefined ? undefined : readCall(here.at('api_call'), api_call)
    if (call === undefined) checkName(here, name)
    else declareName(here, name)
    if (capture.length > 0 && call === undefined)
      here.at('capture').problem('takes values out of an answer: write api_call too, or use params with an expression')
    const captures = capture.map((one, at) => readCapture(here.at('capture').item(at), one))
    return {
      name,
      call,
      captures,
      conditions: conditions.map((one, at) => readCondition(here.at('conditions').item(at), one)),
      expression: expression === undefined ? undefined : here.at('expression').condition(expression),
      log: readLog(here.at('log'), log),
    }
  })

const readCapture = (cursor: FieldCursor, raw: RawCapture): Capture => {
  const { name, field, expression } = raw
  if ((field === undefined) === (expression === undefined)) cursor.problem('must have either field or expression')
  const from: Capture['from'] =
    expression === undefined
      ? { kind: 'field', path: cursor.at('field').fieldPath(field ?? '$') }
      : { kind: 'expression', expression: cursor.at('expression').responseExpression(expression) }
  declareName(cursor, name)
  return { name, from, default: raw.default as Json | undefined }
}

const readCondition = (cursor: FieldCursor, raw: RawCondition): Condition => {
  const { field, operator } = raw
  const value = (raw.values ?? raw.value) as Json | undefined
  const [root = ''] = field.replace(/^[{$.]+/, '').split(/[.[\]]/)
  if (!cursor.names.has(root)) cursor.at('field').problem(cursor.names.hint(root, cursor.names))
  const takesNone = operator === 'exists' || operator === 'notExists'
  if (takesNone && value !== undefined) cursor.at('value').problem(`${operator} compares with nothing: leave value out`)
  if (!takesNone && value === undefined) cursor.at('value').problem(`${operator} needs something to compare with`)
  if ((operator === 'in' || operator === 'notIn') && value !== undefined && !Array.isArray(value))
    cursor.at('values').problem(`${operator} compares with a list: write values: [a, b]`)
  return { field: cursor.at('field').fieldPath(field), operator, value }
}
