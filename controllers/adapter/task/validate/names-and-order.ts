/** What a task must be beyond its schema: names, order of deletion, parents before what is in them. ADAPTER-36, ADAPTER-57. */
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { decideDeletionOrder } from '../../run/resources/deletion-order.ts'
import type { RawResource, RawTask } from '../raw-task.ts'
import type { Task } from '../task.ts'
import type { ProblemList } from '../task-problems.ts'

/** Adds a problem for each name that is there twice where names must differ. */
export const checkNames = (raw: RawTask, problems: ProblemList): void => {
  const { params = [], preconditions = [], resources = [], post } = raw
  const captures = preconditions.flatMap(({ capture = [] }, index) =>
    capture.map(({ name }, at) => ({ name, path: `preconditions[${index}].capture[${at}].name` })),
  )
  const named = (list: readonly { readonly name: string }[], path: string) =>
    list.map(({ name }, at) => ({ name, path: `${path}[${at}].name` }))
  const nested = resources.flatMap(({ nested_discoveries = [] }, index) =>
    named(nested_discoveries, `resources[${index}].nested_discoveries`),
  )
  checkUnique([...named(params, 'params'), ...named(preconditions, 'preconditions'), ...captures], problems)
  checkUnique([...named(resources, 'resources'), ...nested], problems)
  checkUnique(named(post?.payloads ?? [], 'post.payloads'), problems)
  checkUnique(named(post?.post_actions ?? [], 'post.post_actions'), problems)
}

const checkUnique = (
  list: readonly { readonly name: string; readonly path: string }[],
  problems: ProblemList,
): void => {
  const first = new Map<string, string>()
  for (const { name, path } of list) {
    const earlier = first.get(name)
    if (earlier !== undefined) problems.add(path, `${name} is already the name of ${earlier}: write another one`)
    else first.set(name, path.replace(/\.name$/, ''))
  }
}

/** Adds a problem when the resources can't be deleted in any order. */
export const checkOrder = ({ resources }: Pick<Task, 'resources'>, problems: ProblemList): void => {
  const verdict = decideDeletionOrder(
    resources.map(({ name, after, policy, deleteWhen }) => ({
      name,
      after,
      policy,
      isGated: deleteWhen !== undefined,
    })),
  )
  if (verdict.kind === 'order') return
  const { resource, message } = verdict.problem
  const index = resources.findIndex(({ name }) => name === resource)
  problems.add(`resources[${index}].delete_options.after`, message)
}

interface StaticIdentity {
  readonly kind: unknown
  readonly name: unknown
  readonly namespace: unknown
}

/** Adds a problem for each resource that is listed before the Namespace it is in, as far as that shows before templates are rendered. */
export const checkParents = (resources: readonly RawResource[], problems: ProblemList): void => {
  const outlines = resources.map(({ manifest }) => readStaticIdentity(manifest))
  for (const [at, { namespace }] of outlines.entries()) {
    const parent = outlines.findIndex(({ kind, name }) => kind === 'Namespace' && name === namespace)
    if (typeof namespace !== 'string' || parent <= at) continue
    const [child, owner] = [resources[at]?.name, resources[parent]?.name]
    problems.add(`resources[${at}]`, `${child} is in the namespace that ${owner} makes: list ${owner} before it`)
  }
}

const readStaticIdentity = (manifest: unknown): StaticIdentity => {
  const object = typeof manifest === 'string' ? readStatic(manifest) : manifest
  if (typeof object !== 'object' || object === null) return { kind: undefined, name: undefined, namespace: undefined }
  const { kind, metadata } = object as { kind?: unknown; metadata?: { name?: unknown; namespace?: unknown } }
  return { kind, name: metadata?.name, namespace: metadata?.namespace }
}

/** A block whose templates make structure is no YAML yet. */
const readStatic = (text: string): unknown => {
  const read = readYaml(text)
  return 'value' in read ? read.value : undefined
}
