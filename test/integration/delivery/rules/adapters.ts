import { load } from 'js-yaml'
import { NOT_REQUIRED_ANNOTATION } from '#controllers/adapter/required/compare-required.ts'
import { type Manifest, nameOf, type Problem, type Rule } from './manifest.ts'

interface Kinds extends Manifest {
  readonly data: { readonly 'kinds.yaml': string }
}

/** A kind of the HyperFleet API, as far as it says what it waits for. */
interface Entity {
  readonly kind: string
  readonly plural: string
  readonly required_adapters?: 'reporting' | 'undecided' | readonly string[]
}

interface Task extends Manifest {
  readonly spec: { readonly adapter: { readonly name: string }; readonly resourceType: string }
}

interface Workload {
  readonly template?: {
    readonly spec: {
      readonly volumes?: readonly { readonly configMap?: { readonly name: string } }[]
      readonly containers?: readonly { readonly args?: readonly string[] }[]
    }
  }
}

/** Of the manager of the tasks: adapters that no task of this environment does, separated by commas. */
const ELSEWHERE = '--adapters-elsewhere'

/**
 * What a resource waits for before it is Ready, in the overlay, is what the tasks of the same environment do, in folders of their own:
 * else a resource is Ready too early, or never. GITOPS-22.
 */
export const requiredIsDone: Rule = (objects) => {
  const kinds = objects.find(isKinds)
  // What the resources of a member's tasks wait for stands in the hub's overlay.
  if (kinds === undefined && !objects.some(isApi)) return []
  if (kinds === undefined)
    return [
      'ConfigMap/hyperfleet-kinds: add components/kinds and a kinds.yaml that says which adapters each kind requires',
    ]
  const { entities } = load(kinds.data['kinds.yaml']) as { entities: readonly Entity[] }
  const tasks = objects.filter((object): object is Task => object.kind === 'AdapterTask')
  const strays = tasks.filter(({ spec }) => !entities.some(({ plural }) => plural === spec.resourceType))
  return [
    ...(objects.some((object) => reads(object, kinds))
      ? []
      : [`${nameOf(kinds)}: add components/kinds, so that the API reads it`]),
    ...entities.flatMap((entity) => compare(entity, kinds, tasks, objects.flatMap(listElsewhere))),
    ...strays.map((task) => `${nameOf(task)}: kinds.yaml has no ${task.spec.resourceType}`),
  ]
}

const isApi = ({ kind, metadata }: Manifest): boolean => kind === 'Deployment' && metadata.name === 'hyperfleet-api'

const isKinds = (object: Manifest): object is Kinds =>
  object.kind === 'ConfigMap' && object.metadata.name.startsWith('hyperfleet-kinds')

const reads = ({ spec }: Manifest, { metadata }: Kinds): boolean => {
  const { volumes = [] } = (spec as Workload | undefined)?.template?.spec ?? {}
  return volumes.some(({ configMap }) => configMap?.name === metadata.name)
}

const listElsewhere = ({ spec }: Manifest): readonly string[] => {
  const { containers = [] } = (spec as Workload | undefined)?.template?.spec ?? {}
  return containers
    .flatMap(({ args = [] }) => args)
    .flatMap((arg) => (arg.startsWith(`${ELSEWHERE}=`) ? arg.slice(ELSEWHERE.length + 1).split(',') : []))
}

const compare = (
  entity: Entity,
  kinds: Kinds,
  all: readonly Task[],
  elsewhere: readonly string[],
): readonly Problem[] => {
  const { kind, plural, required_adapters: required = [] } = entity
  const tasks = all.filter(({ spec }) => spec.resourceType === plural)
  const meant = tasks.filter(({ metadata }) => metadata.annotations?.[NOT_REQUIRED_ANNOTATION] === undefined)
  if (typeof required === 'string') {
    const list = meant.map(adapterOf).join(', ')
    return meant.length === 0 ? [] : [`${nameOf(kinds)}: ${kind}: write required_adapters: [${list}]`]
  }
  const done = [...tasks.map(adapterOf), ...elsewhere]
  return [
    ...required
      .filter((adapter) => !done.includes(adapter))
      .map(
        (adapter) => `${nameOf(kinds)}: ${kind} requires ${adapter}: add its task, or give its manager ${ELSEWHERE}`,
      ),
    ...meant
      .filter((task) => !required.includes(adapterOf(task)))
      .map(
        (task) =>
          `${nameOf(task)}: add ${adapterOf(task)} to required_adapters of ${kind}, or say ${NOT_REQUIRED_ANNOTATION}`,
      ),
  ]
}

const adapterOf = ({ spec }: Task): string => spec.adapter.name
