/** Reads the task of an AdapterTask: out of its spec, or out of the ConfigMap that it refers to. */
import type { AdapterTaskSpec } from '#apis/hyperfleet.redhat.com/v1alpha1/adaptertask.ts'
import { ConfigMap } from '#apis/kubernetes.ts'
import { createApi } from '#operator/client/api.ts'
import { isForbidden } from '#operator/client/errors.ts'
import type { Transport } from '#operator/client/transport.ts'
import { SelectorError, selectorOf } from '#operator/model/selector.ts'
import type { Access } from '../access.ts'
import type { Languages } from '../task/compile/compiler.ts'
import { type LoadOptions, loadTask, parseTaskFile } from '../task/load-task.ts'
import type { Task } from '../task/task.ts'
import { taskOfDocument, taskOfSpec } from '../task/task-document.ts'
import { InvalidTaskError, type TaskProblem } from '../task/task-problems.ts'
import { findValueless } from '../task/validate/valueless.ts'

export interface TaskReadOptions {
  /** In the name of the task's ServiceAccount, which must be able to get the ConfigMap. */
  readonly api: { readonly transport: Transport }
  readonly namespace: string
  readonly access: Access
  readonly languages: Languages
  readonly signal: AbortSignal
}

export interface ReadTaskResult {
  readonly task: Task
  /** What of it is not in the spec. */
  readonly text: string
  /** Why it can't delete anything. */
  readonly problem: InvalidTaskError | undefined
  /** Expressions that can't ever have a value: ADAPTER-83. */
  readonly hints: readonly TaskProblem[]
}

/** @throws InvalidTaskError for a task that can't be run at all, or what the API server failed with */
export const readTask = async (spec: AdapterTaskSpec, reading: TaskReadOptions): Promise<ReadTaskResult> => {
  const { access, languages } = reading
  const problems = validateSpecFields(spec, access)
  if (problems.length > 0) throw new InvalidTaskError(problems)
  const { environment, httpAllowlist: httpTargets } = access
  if (spec.taskRef === undefined) {
    const { task, adapter } = taskOfSpec(spec)
    return { ...loadRunnable(task, { languages, adapter, environment, httpAllowlist: httpTargets }), text: '' }
  }
  const data = await readTaskFile(spec.taskRef.name, spec.serviceAccountName, reading)
  const { key } = spec.taskRef
  const text = data[key]
  if (text === undefined) {
    const message = `the ConfigMap ${spec.taskRef.name} has no ${key}: it has ${Object.keys(data).join(', ') || 'nothing'}`
    throw new InvalidTaskError([{ path: 'spec.taskRef.key', message }])
  }
  const files = (name: string) => data[name.replace(/^\.\//, '')]
  const { task } = taskOfDocument(parseTaskFile(text))
  return {
    ...loadRunnable(task, { languages, adapter: spec.adapter, environment, httpAllowlist: httpTargets, files }),
    text: JSON.stringify(data),
  }
}

/** Judges all that is in the spec, and looks nowhere else. @returns hints (ADAPTER-83). @throws InvalidTaskError that holds everything that is wrong */
export const validateSpec = (
  spec: AdapterTaskSpec,
  { access, languages }: Pick<TaskReadOptions, 'access' | 'languages'>,
): readonly TaskProblem[] => {
  const problems = validateSpecFields(spec, access)
  if (problems.length > 0) throw new InvalidTaskError(problems)
  if (spec.taskRef !== undefined) return []
  const { task, adapter } = taskOfSpec(spec)
  const { environment, httpAllowlist: httpTargets } = access
  loadTask(task, { languages, adapter, environment, httpAllowlist: httpTargets })
  return findValueless(task, Object.keys(environment))
}

/** @throws InvalidTaskError when there is nothing to run */
const loadRunnable = (written: unknown, options: LoadOptions): Omit<ReadTaskResult, 'text'> => {
  try {
    const task = loadTask(written, options)
    return { task, problem: undefined, hints: findValueless(written, Object.keys(options.environment ?? {})) }
  } catch (error) {
    if (error instanceof InvalidTaskError && error.task !== undefined)
      return { task: error.task, problem: error, hints: [] }
    throw error
  }
}

/** What is wrong with the fields around the task. */
const validateSpecFields = ({ hyperfleetAPI, events, selector }: AdapterTaskSpec, access: Access) => {
  const { url, tokenPath } = hyperfleetAPI
  const { refusal } = access.api(url, tokenPath)
  const api = refusal === undefined ? [] : [{ path: 'spec.hyperfleetAPI.url', message: refusal }]
  const refusedFile =
    tokenPath === undefined || access.isManagersToken(tokenPath) ? undefined : access.fileRefusal(tokenPath)
  const token =
    refusedFile === undefined
      ? []
      : [{ path: 'spec.hyperfleetAPI.tokenPath', message: `${tokenPath} is refused: ${refusedFile}` }]
  const server = events.url === undefined ? undefined : access.natsAllowlist.refusal(events.url)
  const nats = server === undefined ? [] : [{ path: 'spec.events.url', message: server }]
  return [...api, ...token, ...nats, ...selectorProblem(selector)]
}

const selectorProblem = (selector: AdapterTaskSpec['selector']) => {
  try {
    selectorOf(selector ?? {})
    return []
  } catch (error) {
    if (error instanceof SelectorError) return [{ path: 'spec.selector', message: error.message }]
    throw error
  }
}

/** The label of a ConfigMap with a task file: the account that does what is in it. The policy task-files.yaml guards its content. */
const TASK_ACCOUNT_LABEL = 'muster.dev/task-account'

/** ADAPTER-104. @returns what the ConfigMap holds */
const readTaskFile = async (
  name: string,
  account: string,
  { api, namespace, signal }: TaskReadOptions,
): Promise<Readonly<Record<string, string>>> => {
  const refused = (message: string) => new InvalidTaskError([{ path: 'spec.taskRef.name', message }])
  try {
    const found = await createApi(api.transport, { signal }).get(ConfigMap, name, namespace)
    if (found === undefined) throw refused(`there is no ConfigMap ${name} in the namespace ${namespace}`)
    if (found.metadata.labels?.[TASK_ACCOUNT_LABEL] !== account)
      throw refused(
        `the ConfigMap ${name} is no task file for the ServiceAccount ${account}: read it, and say that it is by ` +
          `"kubectl label configmap ${name} -n ${namespace} ${TASK_ACCOUNT_LABEL}=${account}", which takes the right to impersonate the account`,
      )
    return found.data ?? {}
  } catch (error) {
    if (isForbidden(error))
      throw refused(`the task's ServiceAccount may not get the ConfigMap ${name}: ${error.message}`)
    throw error
  }
}
