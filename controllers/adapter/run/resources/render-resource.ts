/** Renders a task's resource for one HyperFleet resource: what is applied, with our marks, and how it is found again. */
import type { EventData } from '../../events/reconcile-event.ts'
import type { Discovery, Json, JsonObject, Reach, Scope, TaskResource } from '../../task/task.ts'
import type { Finding, Sought, Target } from '../../transports/transport.ts'
import { TaskError } from '../task-error.ts'
import { ADAPTER_LABEL, EVENT_ANNOTATION, GENERATION, metadataOf, RESOURCE_LABEL } from './object.ts'

/** What our marks say. */
export interface Marks {
  readonly adapter: string
  readonly event: EventData
  readonly generation: number
}

/** Characters of a manifest. Design page 50, Safety. */
const LARGEST = 1024 * 1024
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** As far as it takes to find and delete it: a mistake in the rest of its manifest is no hindrance. @throws TaskError */
export const soughtOf = (resource: TaskResource, scope: Scope): Sought => {
  const { name, reach, manifest, discovery } = resource
  if (reach.kind === 'http') return { name, outline: {}, reach: httpReach(name, reach, scope), find: { kind: 'self' } }
  const outline = kindred(name, objectOf(name, manifest.outline.build(scope)))
  const namespace = namespaceOf(resource, outline, scope)
  const { apiVersion = '', kind = '' } = outline
  return {
    name,
    outline: { apiVersion, kind, metadata: namespace === undefined ? {} : { namespace } },
    reach: { kind: 'kubernetes' },
    find: findingOf(name, discovery, namespace, scope),
  }
}

/** The whole of what is sought. @throws TaskError when it can't be rendered, or is nothing that can be applied */
export const targetOf = (sought: Sought, { manifest }: TaskResource, scope: Scope, marks: Marks): Target => {
  const { name, reach } = sought
  const document = objectOf(name, manifest.build(scope))
  const size = JSON.stringify(document).length
  if (size > LARGEST)
    throw new TaskError(
      'InvalidManifest',
      `the manifest of ${name} has ${size} characters: at most ${LARGEST} are applied`,
    )
  if (reach.kind === 'http') return { ...sought, manifest: document }
  const { namespace } = metadataOf(sought.outline)
  return { ...sought, manifest: marked(placed(name, kindred(name, document), namespace), marks) }
}

const objectOf = (name: string, document: Json): JsonObject => {
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document as JsonObject
  throw new TaskError('InvalidManifest', `the manifest of ${name} is no object once it is rendered`)
}

/** Where it says of itself that it goes; a ManifestWork to the cluster that it is for. */
const namespaceOf = ({ reach }: TaskResource, document: JsonObject, scope: Scope): string | undefined =>
  reach.kind === 'maestro' ? reach.targetCluster.render(scope) : metadataOf(document).namespace

const httpReach = (
  name: string,
  { url, createUrl, headers }: Extract<Reach, { readonly kind: 'http' }>,
  scope: Scope,
): Sought['reach'] => {
  const address = url.render(scope)
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    throw new TaskError(
      'InvalidManifest',
      `the url of ${name} is ${JSON.stringify(address)}: write http(s)://host/path`,
    )
  return {
    kind: 'http',
    url: address,
    createUrl: createUrl?.render(scope),
    headers: Object.fromEntries(headers.map((header) => [header.name.toLowerCase(), header.value.render(scope)])),
  }
}

/** With a kind that it says. */
const kindred = (name: string, document: JsonObject): JsonObject => {
  for (const field of ['apiVersion', 'kind'])
    if (typeof document[field] !== 'string' || document[field] === '')
      throw new TaskError('InvalidManifest', `the manifest of ${name} has no ${field}`)
  return document
}

/** With the namespace that it goes to. */
const placed = (name: string, document: JsonObject, namespace: string | undefined): JsonObject => {
  const metadata = metadataOf(document)
  if (typeof metadata.name !== 'string' || metadata.name === '')
    throw new TaskError('InvalidManifest', `the manifest of ${name} has no metadata.name, by which it is applied`)
  return namespace === undefined
    ? document
    : { ...document, metadata: { ...(document.metadata as JsonObject), namespace } }
}

const marked = (document: JsonObject, { adapter, event, generation }: Marks): JsonObject => {
  const { labels = {}, annotations = {} } = metadataOf(document)
  const owner: Record<string, string> = LABEL_VALUE.test(event.id) ? { [RESOURCE_LABEL]: event.id } : {}
  return {
    ...document,
    metadata: {
      ...(document.metadata as JsonObject),
      labels: { ...labels, [ADAPTER_LABEL]: adapter, ...owner },
      annotations: { [GENERATION]: String(generation), ...annotations, [EVENT_ANNOTATION]: lasting(event) },
    },
  }
}

/** What stays the same from event to event. */
const lasting = ({ id, kind, href, owner_references }: EventData): string =>
  JSON.stringify({ id, kind, href, owner_references })

const findingOf = (
  resource: string,
  discovery: Discovery | undefined,
  own: string | undefined,
  scope: Scope,
): Finding => {
  if (discovery === undefined) return { kind: 'self' }
  const said = discovery.namespace?.render(scope)
  const everywhere = said === '*' || said === ''
  if (discovery.by.kind === 'name') {
    const name = discovery.by.name.render(scope)
    // Without a name the path is that of all objects of the kind: they would be found, and deleted.
    if (name === '')
      throw new TaskError(
        'DiscoveryFailed',
        `by_name of ${resource}, ${discovery.by.name.text}, is empty once it is rendered: write one that always gives a name`,
      )
    return { kind: 'name', namespace: everywhere ? own : (said ?? own), name }
  }
  const labels = Object.entries(discovery.by.labels).map(([key, value]) => [key, value.render(scope)] as const)
  return { kind: 'labels', namespace: everywhere ? undefined : said, labels: Object.fromEntries(labels) }
}
