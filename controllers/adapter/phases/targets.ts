/** Renders a task's resource for one HyperFleet resource: what is applied, with our marks, and how it is found again. */
import type { EventData } from '../event.ts'
import { TaskError } from '../failure.ts'
import { ADAPTER_LABEL, EVENT_ANNOTATION, GENERATION, metadataOf, RESOURCE_LABEL } from '../object.ts'
import type { Discovery, Json, JsonObject, Reach, Scope, TaskResource } from '../task/form.ts'
import type { Finding, Target } from '../transports/transport.ts'

/** What our marks say. */
export interface Marks {
  readonly adapter: string
  readonly event: EventData
  readonly generation: number
}

/** Characters of a manifest. Design page 50, Safety. */
const LARGEST = 1024 * 1024
const LABEL_VALUE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** @throws TaskError when it can't be rendered, or is nothing that can be applied */
export const targetOf = (resource: TaskResource, scope: Scope, marks: Marks): Target => {
  const { name } = resource
  const document = objectOf(name, resource.manifest.build(scope))
  const size = JSON.stringify(document).length
  if (size > LARGEST)
    throw new TaskError(
      'InvalidManifest',
      `the manifest of ${name} has ${size} characters: at most ${LARGEST} are applied`,
    )
  const { reach } = resource
  if (reach.kind === 'http') return httpTarget(name, document, reach, scope)
  const namespace = reach.kind === 'maestro' ? reach.targetCluster.render(scope) : metadataOf(document).namespace
  const manifest = marked(placed(name, document, namespace), marks)
  return { name, manifest, reach: { kind: 'kubernetes' }, find: findingOf(resource.discovery, namespace, scope) }
}

const objectOf = (name: string, document: Json): JsonObject => {
  if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document as JsonObject
  throw new TaskError('InvalidManifest', `the manifest of ${name} is no object once it is rendered`)
}

const httpTarget = (
  name: string,
  manifest: JsonObject,
  { url, createUrl, headers }: Extract<Reach, { readonly kind: 'http' }>,
  scope: Scope,
): Target => {
  const address = url.render(scope)
  if (!/^https?:$/.test(URL.parse(address)?.protocol ?? ''))
    throw new TaskError(
      'InvalidManifest',
      `the url of ${name} is ${JSON.stringify(address)}: write http(s)://host/path`,
    )
  return {
    name,
    manifest,
    reach: {
      kind: 'http',
      url: address,
      createUrl: createUrl?.render(scope),
      headers: Object.fromEntries(headers.map((header) => [header.name.toLowerCase(), header.value.render(scope)])),
    },
    find: { kind: 'self' },
  }
}

/** With the namespace that it goes to. */
const placed = (name: string, document: JsonObject, namespace: string | undefined): JsonObject => {
  for (const field of ['apiVersion', 'kind'])
    if (typeof document[field] !== 'string' || document[field] === '')
      throw new TaskError('InvalidManifest', `the manifest of ${name} has no ${field}`)
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

const findingOf = (discovery: Discovery | undefined, own: string | undefined, scope: Scope): Finding => {
  if (discovery === undefined) return { kind: 'self' }
  const said = discovery.namespace?.render(scope)
  const everywhere = said === '*' || said === ''
  if (discovery.by.kind === 'name')
    return { kind: 'name', namespace: everywhere ? own : (said ?? own), name: discovery.by.name.render(scope) }
  const labels = Object.entries(discovery.by.labels).map(([key, value]) => [key, value.render(scope)] as const)
  return { kind: 'labels', namespace: everywhere ? undefined : said, labels: Object.fromEntries(labels) }
}
