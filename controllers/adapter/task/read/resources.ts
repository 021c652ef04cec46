/** Reads what a task applies, finds and deletes. */
import { readYaml } from '#lib/yaml/read-yaml.ts'
import { TaskError } from '../../run/task-error.ts'
import { extractIdentity, extractIdentityText } from '../compile/manifest-identity.ts'
import type { RawDiscovery, RawManifest, RawResource } from '../raw-task.ts'
import type { Discovery, DocumentTemplate, Manifest, TaskResource, Template, TransportSpec } from '../task.ts'
import { readHeaders } from './calls.ts'
import type { FieldCursor } from './field-cursor.ts'

/** The files that a task file refers to: by name, relative to it. Undefined when there is none. */
export type Files = (name: string) => string | undefined

export const readResources = (
  cursor: FieldCursor,
  raw: readonly RawResource[] = [],
  files: Files,
): readonly TaskResource[] =>
  raw.map((resource, index) => {
    const here = cursor.item(index)
    const {
      name,
      nested_discoveries = [],
      lifecycle,
      delete_options,
      recreate_on_change = false,
      adopt = false,
    } = resource
    const transport = readTransport(here.at('transport'), resource.transport)
    if (resource.discovery === undefined && transport.kind !== 'http')
      here.at('discovery').problem('is missing: write by_name or by_selectors, by which the resource is found again')
    const gate = lifecycle?.delete
    return {
      name,
      transport,
      manifest: readManifest(here.at('manifest'), resource.manifest as RawManifest, files),
      discovery: resource.discovery && readDiscovery(here.at('discovery'), resource.discovery),
      nested: nested_discoveries.map((nested, at) => ({
        name: nested.name,
        discovery: readDiscovery(here.at('nested_discoveries').item(at).at('discovery'), nested.discovery),
      })),
      recreateOnChange: recreate_on_change,
      adopt,
      createWhen: here.at('lifecycle.create.when').when(lifecycle?.create?.when),
      deleteWhen: here.at('lifecycle.delete.when').when(gate?.when),
      policy: delete_options?.propagation_policy ?? gate?.propagation_policy ?? gate?.propagationPolicy ?? 'Background',
      after: delete_options?.after,
    }
  })

const readTransport = (cursor: FieldCursor, raw: RawResource['transport']): TransportSpec => {
  const client = raw?.client ?? 'kubernetes'
  switch (client) {
    case 'kubernetes':
      return { kind: 'kubernetes' }
    case 'maestro': {
      if (raw?.maestro === undefined) cursor.at('maestro').problem('is missing: write {target_cluster: …}')
      return {
        kind: 'maestro',
        targetCluster: cursor.at('maestro.target_cluster').template(raw?.maestro?.target_cluster ?? ''),
      }
    }
    case 'http': {
      if (raw?.http === undefined) cursor.at('http').problem('is missing: write {url: …}')
      const { url = '', create_url, headers } = raw?.http ?? {}
      const here = cursor.at('http')
      return {
        kind: 'http',
        url: here.at('url').template(url),
        createUrl: create_url === undefined ? undefined : here.at('create_url').template(create_url),
        headers: readHeaders(here.at('headers'), headers),
      }
    }
  }
}

const readDiscovery = (cursor: FieldCursor, raw: RawDiscovery): Discovery => {
  const { namespace, by_name, by_selectors } = raw
  if ((by_name === undefined) === (by_selectors === undefined))
    cursor.problem('must have either by_name or by_selectors')
  if (by_selectors !== undefined && Object.keys(by_selectors.label_selector ?? {}).length === 0)
    cursor.at('by_selectors.label_selector').problem('has no label, so it would find all there are: write at least one')
  return {
    namespace: namespace === undefined ? undefined : cursor.at('namespace').template(namespace),
    by:
      by_name === undefined
        ? {
            kind: 'labels',
            labels: Object.fromEntries(
              Object.entries(by_selectors?.label_selector ?? {}).map(([key, value]) => [
                key,
                cursor.at(`by_selectors.label_selector.${key}`).template(value),
              ]),
            ),
          }
        : { kind: 'name', name: cursor.at('by_name').template(by_name) },
  }
}

const readManifest = (cursor: FieldCursor, raw: RawManifest, files: Files): Manifest => {
  if (typeof raw === 'string') return readManifestText(cursor, raw)
  const { ref, ...rest } = raw as { ref?: unknown }
  if (typeof ref !== 'string' || Object.keys(rest).length > 0)
    return {
      ...cursor.document(raw),
      identity: cursor.document(extractIdentity(raw as Readonly<Record<string, unknown>>)),
    }
  const text = files(ref)
  if (text !== undefined) return readManifestText(cursor.at('ref'), text)
  cursor.at('ref').problem(`there is no file ${ref} beside the task`)
  return { ...cursor.document({}), identity: cursor.document({}) }
}

/** YAML with templates that may make structure: rendered first, parsed then. */
const readManifestText = (cursor: FieldCursor, text: string): Manifest => {
  const whole = parseRendered(cursor, cursor.template(text))
  const identity = extractIdentityText(text)
  const part = identity === undefined ? undefined : cursor.partOfTemplate(identity)
  return { ...whole, identity: part === undefined ? whole : parseRendered(cursor, part) }
}

const parseRendered = (cursor: FieldCursor, template: Template): DocumentTemplate => ({
  build: (scope) => {
    const read = readYaml(template.render(scope))
    if ('value' in read) return read.value
    throw new TaskError('InvalidManifest', `${cursor.path}, once it is rendered, ${read.problem}`)
  },
})
