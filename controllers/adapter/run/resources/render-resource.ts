/** Renders a task's resource for one HyperFleet resource: what is applied, with our labels, and how it is found again: ADAPTER-25. */

import { RESOURCE_LABEL } from '#apis/hyperfleet.redhat.com/applied-objects.ts'
import { isObject } from '#lib/json/is-object.ts'
import { LABEL_TEXT } from '#operator/model/selector.ts'
import type { EventData } from '../../events/reconcile-event.ts'
import type { Discovery, Json, JsonObject, Scope, TaskResource, TransportSpec } from '../../task/task.ts'
import type { Lookup, ObjectMatch, Target } from '../../transports/transport.ts'
import { TaskError } from '../task-error.ts'
import { ADAPTER_LABEL, GENERATION_ANNOTATION, metadataOf } from './object.ts'

/** What our labels and annotations say. */
export interface OwnerLabels {
  readonly adapter: string
  readonly event: EventData
  readonly generation: number
}

/** Characters of a manifest as JSON. */
const MAX_MANIFEST_CHARS = 1024 * 1024

/** As far as it takes to find and delete it: ADAPTER-45. @throws TaskError */
export const renderLookup = (resource: TaskResource, scope: Scope): Lookup => {
  const { name, transport, manifest, discovery } = resource
  if (transport.kind === 'http')
    return { name, identity: {}, transport: renderHttpTransport(name, transport, scope), match: { kind: 'self' } }
  const identity = requireKind(name, requireObject(name, manifest.identity.build(scope)))
  const namespace = renderNamespace(resource, identity, scope)
  const { apiVersion = '', kind = '' } = identity
  return {
    name,
    identity: { apiVersion, kind, metadata: namespace === undefined ? {} : { namespace } },
    transport: { kind: 'kubernetes' },
    match: renderMatch(name, discovery, namespace, scope),
  }
}

/** The whole of what is looked for. @throws TaskError when it can't be rendered, or is nothing that can be applied */
export const renderTarget = (lookup: Lookup, { manifest }: TaskResource, scope: Scope, marks: OwnerLabels): Target => {
  const { name, transport } = lookup
  const document = requireObject(name, manifest.build(scope))
  const size = JSON.stringify(document).length
  if (size > MAX_MANIFEST_CHARS)
    throw new TaskError(
      'InvalidManifest',
      `the manifest of ${name} has ${size} characters: at most ${MAX_MANIFEST_CHARS} are applied`,
    )
  if (transport.kind === 'http') return { ...lookup, manifest: document }
  const { namespace } = metadataOf(lookup.identity)
  return { ...lookup, manifest: withOwnerLabels(withNamespace(name, requireKind(name, document), namespace), marks) }
}

const requireObject = (name: string, document: Json): JsonObject => {
  if (isObject(document)) return document as JsonObject
  throw new TaskError('InvalidManifest', `the manifest of ${name} is no object once it is rendered`)
}

/** Where it says of itself that it goes; a ManifestWork to the cluster that it is for. */
const renderNamespace = ({ transport }: TaskResource, document: JsonObject, scope: Scope): string | undefined =>
  transport.kind === 'maestro' ? transport.targetCluster.render(scope) : metadataOf(document).namespace

const renderHttpTransport = (
  name: string,
  { url, createUrl, headers }: Extract<TransportSpec, { readonly kind: 'http' }>,
  scope: Scope,
): Lookup['transport'] => {
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
    headers: renderHeaders(headers, scope),
  }
}

/** With which an HTTP service is asked, whatever it is asked for. @throws TaskError when one has no value */
export const renderHeaders = (
  headers: Extract<TransportSpec, { readonly kind: 'http' }>['headers'],
  scope: Scope,
): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.map((header) => [header.name.toLowerCase(), header.value.render(scope)]))

/** With a kind that it says. */
const requireKind = (name: string, document: JsonObject): JsonObject => {
  for (const field of ['apiVersion', 'kind'])
    if (typeof document[field] !== 'string' || document[field] === '')
      throw new TaskError('InvalidManifest', `the manifest of ${name} has no ${field}`)
  return document
}

/** With the namespace that it goes to. */
const withNamespace = (name: string, document: JsonObject, namespace: string | undefined): JsonObject => {
  const metadata = metadataOf(document)
  if (typeof metadata.name !== 'string' || metadata.name === '')
    throw new TaskError('InvalidManifest', `the manifest of ${name} has no metadata.name, by which it is applied`)
  return namespace === undefined
    ? document
    : { ...document, metadata: { ...(document.metadata as JsonObject), namespace } }
}

const withOwnerLabels = (document: JsonObject, { adapter, event, generation }: OwnerLabels): JsonObject => {
  const { labels = {}, annotations = {} } = metadataOf(document)
  const owner: Record<string, string> = LABEL_TEXT.test(event.id) ? { [RESOURCE_LABEL]: event.id } : {}
  return {
    ...document,
    metadata: {
      ...(document.metadata as JsonObject),
      labels: { ...labels, [ADAPTER_LABEL]: adapter, ...owner },
      annotations: {
        [GENERATION_ANNOTATION]: String(generation),
        ...annotations,
      },
    },
  }
}

/** With what is known of it only when it is applied. What goes to an HTTP service has no annotations. */
export const withAnnotations = (target: Target, more: Readonly<Record<string, string>>): Target => {
  if (target.transport.kind === 'http') return target
  const { manifest } = target
  const annotations = { ...metadataOf(manifest).annotations, ...more }
  return { ...target, manifest: { ...manifest, metadata: { ...(manifest.metadata as JsonObject), annotations } } }
}

const renderMatch = (
  resource: string,
  discovery: Discovery | undefined,
  own: string | undefined,
  scope: Scope,
): ObjectMatch => {
  if (discovery === undefined) return { kind: 'self' }
  const stated = discovery.namespace?.render(scope)
  const everywhere = stated === '*' || stated === ''
  if (discovery.by.kind === 'name') {
    const name = discovery.by.name.render(scope)
    // ADAPTER-31: without a name the path is that of all objects of the kind, which would be found and deleted.
    if (name === '')
      throw new TaskError(
        'DiscoveryFailed',
        `by_name of ${resource}, ${discovery.by.name.text}, is empty once it is rendered: write one that always gives a name`,
      )
    return { kind: 'name', namespace: everywhere ? own : (stated ?? own), name }
  }
  const labels = Object.entries(discovery.by.labels).map(([key, value]) => [key, value.render(scope)] as const)
  return { kind: 'labels', namespace: everywhere ? undefined : stated, labels: Object.fromEntries(labels) }
}
