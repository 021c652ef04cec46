/** Reads payloads and post actions. */
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { mayDefault } from '../../run/task-error.ts'
import type { LeafCompiler } from '../compile/compiler.ts'
import { nameProblem } from '../compile/variable-names.ts'
import type { RawAction, RawPayload } from '../raw-task.ts'
import type { DocumentTemplate, Json, Payload, PostAction } from '../task.ts'
import { readCall, readLog } from './calls.ts'
import type { FieldCursor } from './field-cursor.ts'
import type { Files } from './resources.ts'

export const readPayloads = (cursor: FieldCursor, raw: readonly RawPayload[] = [], files: Files): readonly Payload[] =>
  raw.map((payload, index) => {
    const here = cursor.item(index)
    const { name, build, build_ref, when_deleting } = payload
    if ((build === undefined) === (build_ref === undefined)) here.problem('must have either build or build_ref')
    const read: Payload = {
      name,
      when: here.at('when').when(payload.when),
      build: build_ref === undefined ? readBuild(here.at('build'), build) : readBuildFile(here, build_ref, files),
      whenDeleting: when_deleting === undefined ? undefined : readBuild(here.at('when_deleting'), when_deleting),
    }
    const problem = nameProblem(name)
    if (problem !== undefined) here.at('name').problem(problem)
    here.names.add(name)
    return read
  })

const readBuildFile = (cursor: FieldCursor, file: string, files: Files): DocumentTemplate => {
  const text = files(file)
  if (text === undefined) {
    cursor.at('build_ref').problem(`there is no file ${file} beside the task`)
    return cursor.document({})
  }
  return readBuild(cursor.at('build_ref'), parseBuild(cursor.at('build_ref'), text))
}

const parseBuild = (cursor: FieldCursor, text: string): unknown => {
  const read = readYaml(text)
  if ('value' in read) return read.value
  cursor.problem(read.problem)
  return {}
}

const readBuild = (cursor: FieldCursor, build: unknown): DocumentTemplate =>
  cursor.document(build, computedValue(cursor))

const FIELD = new Set(['field', 'default'])
const EXPRESSION = new Set(['expression', 'default'])

/** `{field, default}` and `{expression, default}` stand for the value that they give. */
const computedValue =
  (cursor: FieldCursor): LeafCompiler =>
  (path, object) => {
    const keys = Object.keys(object)
    const { field, expression } = object
    const fallback = object.default as Json | undefined
    const here = cursor.atPath(path)
    if (typeof field === 'string' && keys.every((key) => FIELD.has(key))) {
      const names = here.at('field').fieldPath(field)
      return { build: (scope) => (names.take(scope, scope) as Json | undefined) ?? fallback ?? null }
    }
    if (typeof expression !== 'string' || !keys.every((key) => EXPRESSION.has(key))) return undefined
    const compiled = here.at('expression').expression(expression)
    return { build: (scope) => orDefault(() => compiled.evaluate(scope), fallback) }
  }

/** Nothing, or an error where a default says what to take then. An error without a default is an error. */
const orDefault = (evaluate: () => Json, fallback: Json | undefined): Json => {
  try {
    return evaluate() ?? fallback ?? null
  } catch (error) {
    if (!mayDefault(error) || fallback === undefined) throw error
    return fallback
  }
}

export const readActions = (
  cursor: FieldCursor,
  raw: readonly RawAction[] = [],
  payloads: readonly Payload[],
): readonly PostAction[] =>
  raw.map((action, index) => {
    const here = cursor.item(index)
    const { name, api_call, log } = action
    const call = api_call === undefined ? undefined : readCall(here.at('api_call'), api_call)
    const used = call?.body?.variables ?? []
    return {
      name,
      when: here.at('when').when(action.when),
      log: readLog(here.at('log'), log),
      call,
      payloads: payloads.map((payload) => payload.name).filter((payload) => used.includes(payload)),
    }
  })
