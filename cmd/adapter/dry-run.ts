import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DryRunFileError, type ResponseRule } from '#controllers/adapter/dry-run/canned-responses.ts'
import { dryRun, instantClock } from '#controllers/adapter/dry-run/dry-run.ts'
import { formatDryRun } from '#controllers/adapter/dry-run/format.ts'
import { NotAnEventError, parseEventText } from '#controllers/adapter/events/reconcile-event.ts'
import { taskLanguages } from '#controllers/adapter/language/task-languages.ts'
import { loadTask, parseTaskFile } from '#controllers/adapter/task/load-task.ts'
import type { JsonObject, Task } from '#controllers/adapter/task/task.ts'
import { taskOfDocument } from '#controllers/adapter/task/task-document.ts'
import { filesInFolder } from '#controllers/adapter/task/task-files.ts'
import { InvalidTaskError } from '#controllers/adapter/task/task-problems.ts'
import { isObject } from '#lib/json/is-object.ts'
import { UsageError } from '../failure.ts'
import type { DryRunOptions } from './command.ts'
import { unknownRuleField, unknownTaskFields } from './manifest-fields.ts'

/** Prints the trace. The exit code is 1 when the run failed. @throws UsageError when a file can't be used */
export const runDryRun = async (options: DryRunOptions): Promise<void> => {
  const clock = instantClock(new Date())
  // What a person runs on their own machine may read what they may read.
  const environment = definedOf(process.env)
  const task = taskOf(needed('--task', options.task), environment, () => clock.now())
  const event = wellFormed('--event', needed('--event', options.event), parseEventText)
  const responses =
    options.apiResponses === undefined ? [] : wellFormed('--api-responses', options.apiResponses, responsesOf)
  const discovery = options.discovery === undefined ? {} : wellFormed('--discovery', options.discovery, objectsOf)
  const read = (path: string) => readFile(path, 'utf8')
  try {
    const result = await dryRun({
      task,
      event,
      responses,
      discovery,
      environment,
      secrets: namedIn(textOf('--task', needed('--task', options.task)), environment),
      readFile: read,
      clock,
    })
    process.stdout.write(options.output === 'json' ? `${JSON.stringify(result, undefined, 2)}\n` : formatDryRun(result))
    if (result.status === 'failed') process.exitCode = 1
  } catch (error) {
    if (error instanceof DryRunFileError) throw new UsageError(`--api-responses: ${error.message}`, { cause: error })
    throw error
  }
}

const needed = (flag: string, file: string | undefined): string => {
  if (file === undefined) throw new UsageError(`${flag}: name a file ("muster adapter dry-run --help" shows examples)`)
  return file
}

const definedOf = (environment: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** Values of the variables that the task speaks of: all others of a person's environment may be shown, such as `/` or `true`. */
const namedIn = (text: string, environment: Readonly<Record<string, string>>): readonly string[] => {
  const words = new Set(text.match(/\w+/g))
  return Object.entries(environment).flatMap(([name, value]) => (words.has(name) ? [value] : []))
}

/** A task file has no kind; what has another one was named by mistake. @throws UsageError */
const refuseOtherKind = (file: string, document: unknown): void => {
  if (!isObject(document) || typeof document.kind !== 'string' || document.kind === 'AdapterTask') return
  throw new UsageError(`--task: ${file} is a ${document.kind}: name a task file, or the manifest of an AdapterTask`)
}

const taskOf = (file: string, environment: Readonly<Record<string, string>>, now: () => Date): Task => {
  const text = textOf('--task', file)
  try {
    const document = parseTaskFile(text)
    refuseOtherKind(file, document)
    const unknown = unknownTaskFields(document)
    if (unknown.length > 0) throw new InvalidTaskError(unknown)
    const { task, adapter = nameIn(task) } = taskOfDocument(document)
    return loadTask(task, { languages: taskLanguages(now), adapter, files: filesInFolder(dirname(file)), environment })
  } catch (error) {
    if (error instanceof InvalidTaskError)
      throw new UsageError(`--task: ${file} can't be run: ${error.message}`, { cause: error })
    throw error
  }
}

/** The adapter that runs the task; files of the Go adapter leave it to the deployment. */
const nameIn = (task: unknown): { readonly name: string } | undefined =>
  typeof task === 'object' && task !== null && 'adapter' in task ? undefined : { name: 'dry-run' }

const textOf = (flag: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${flag}: ${file} can't be read: ${why}`, { cause: error })
  }
}

const wellFormed = <T>(flag: string, file: string, parse: (text: string) => T): T => {
  const text = textOf(flag, file)
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof NotAnEventError || error instanceof DryRunFileError))
      throw error
    throw new UsageError(`${flag}: ${file}: ${error.message}`, { cause: error })
  }
}

const responsesOf = (text: string): readonly ResponseRule[] => {
  const { responses } = (JSON.parse(text) ?? {}) as { responses?: unknown }
  if (!Array.isArray(responses))
    throw new DryRunFileError(
      'write {"responses": [{"match": {"method", "urlPattern"}, "responses": [{"statusCode", "body"}]}]}',
    )
  const unknown = unknownRuleField(responses)
  if (unknown !== undefined) throw new DryRunFileError(unknown)
  return responses
}

const objectsOf = (text: string): Readonly<Record<string, JsonObject>> => {
  const objects: unknown = JSON.parse(text)
  const isMap = isObject(objects)
  if (!isMap || Object.values(objects).some((object) => typeof object !== 'object' || object === null))
    throw new DryRunFileError('write an object that has, under each name, an object that is there')
  return objects as Readonly<Record<string, JsonObject>>
}
