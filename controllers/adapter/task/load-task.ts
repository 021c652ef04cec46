/**
 * From a task as it is written to one that can be run, or to everything that is wrong with it.
 *
 *   text ─► YAML ─► shape (unknown keys, types) ─► names, order, parents ─► every expression and template compiled
 */

import { taskFile } from '#apis/hyperfleet.redhat.com/v1alpha1/task/task.ts'
import type { HttpAllowlist } from '#lib/egress/http-allowlist.ts'
import { findExcess } from '#lib/json/size.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { Compiler, type Languages } from './compile/compiler.ts'
import { PROVIDED, RESOURCES, VariableNames } from './compile/variable-names.ts'
import type { RawTask } from './raw-task.ts'
import { FieldCursor } from './read/field-cursor.ts'
import { readParams, readPreconditions } from './read/inputs.ts'
import { readActions, readPayloads } from './read/post.ts'
import { type Files, readResources } from './read/resources.ts'
import type { Task } from './task.ts'
import { InvalidTaskError, ProblemList } from './task-problems.ts'
import { checkHttpResources } from './validate/http-resources.ts'
import { checkNames, checkOrder, checkParents } from './validate/names-and-order.ts'
import { schemaProblems } from './validate/schema.ts'

export interface LoadOptions {
  readonly languages: Languages
  /** The adapter that runs the task; the file's own `adapter` when undefined. */
  readonly adapter?: { readonly name: string; readonly version?: string | undefined } | undefined
  readonly files?: Files
  /** Environment variables that the task may read. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Where resources of HTTP services may lead; not judged when undefined. */
  readonly httpAllowlist?: HttpAllowlist | undefined
}

/** A task file as an object, not judged yet. @throws InvalidTaskError when it can't be read */
export const parseTaskFile = (text: string): unknown => {
  const read = readYaml(text)
  if ('problem' in read) throw new InvalidTaskError([{ path: '', message: `the task ${read.problem}` }])
  return read.value
}

/** @throws InvalidTaskError that holds everything that is wrong */
export const loadTask = (value: unknown, options: LoadOptions): Task => {
  const problems = new ProblemList()
  // What the API server has let in may be deeper than any text of YAML.
  const excess = findExcess([value as Json])
  if (excess !== undefined) throw new InvalidTaskError([{ path: '', message: `the task has ${excess}` }])
  for (const { path, message } of schemaProblems(value, taskFile())) problems.add(path, message)
  problems.throwIfAny()
  const raw = value as RawTask
  checkNames(raw, problems)
  checkParents(raw.resources ?? [], problems)
  const task = readTask(raw, options, problems)
  checkHttpResources(task, raw.resources ?? [], options.httpAllowlist, problems)
  checkEnvironment(task, options.environment ?? {}, problems)
  problems.throwIfAny()
  checkOrder(task, problems)
  problems.throwIfAny(task)
  return task
}

const readTask = (raw: RawTask, options: LoadOptions, problems: ProblemList): Task => {
  const { files = () => undefined, languages } = options
  const names = new VariableNames()
  const cursor = new FieldCursor(new Compiler(languages, problems, collectNames(raw)), problems, names)
  const adapter = options.adapter ?? raw.adapter
  if (adapter === undefined) problems.add('adapter', 'is missing: write adapter: {name: …}, under which it reports')

  const params = readParams(cursor.at('params'), raw.params)
  const preconditions = readPreconditions(cursor.at('preconditions'), raw.preconditions)
  const whenDeleting =
    raw.when_deleting === undefined ? undefined : cursor.at('when_deleting').condition(raw.when_deleting)
  names.add(RESOURCES)
  const resources = readResources(cursor.at('resources'), raw.resources, files)
  const payloads = readPayloads(cursor.at('post.payloads'), raw.post?.payloads, files)
  return {
    adapter: { name: adapter?.name ?? '', version: adapter?.version ?? '' },
    params,
    preconditions,
    whenDeleting,
    resources,
    payloads,
    postActions: readActions(cursor.at('post.post_actions'), raw.post?.post_actions, payloads),
  }
}

/** Every name that is known at the end of the task. */
const collectNames = ({ params = [], preconditions = [], post }: RawTask): VariableNames =>
  new VariableNames([
    ...PROVIDED,
    RESOURCES,
    ...params.map(({ name }) => name),
    ...preconditions.flatMap(({ name, capture = [] }) => [name, ...capture.map((one) => one.name)]),
    ...(post?.payloads ?? []).map(({ name }) => name),
  ])

const checkEnvironment = (
  { params }: Task,
  environment: Readonly<Record<string, string | undefined>>,
  problems: ProblemList,
): void => {
  for (const [at, { source, required, default: fallback }] of params.entries()) {
    if (source.kind !== 'env' || !required || fallback !== undefined) continue
    if (environment[source.variable] === undefined)
      problems.add(
        `params[${at}].source`,
        `the environment variable ${source.variable} is not set, or not among those that tasks may read`,
      )
  }
}
