// Copies every ConfigMap with the label `copy-to: NAMESPACE` into that namespace, and takes the copy away with it.
import { controller, defineResource, type KubeObject, operator, PRESENT, type Resource } from '#operator/index.ts'

interface ConfigMap extends KubeObject<undefined> {
  readonly data?: Readonly<Record<string, string>>
}
const ConfigMaps: Resource<ConfigMap> = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
})

const copies = controller(ConfigMaps, { name: 'copies' })
const labelled = { labels: { 'copy-to': PRESENT } } as const
const targetOf = ({ metadata }: ConfigMap) => metadata.labels?.['copy-to'] ?? metadata.namespace

copies.reconcile(async ({ object, name, api, log }) => {
  const copy = { metadata: { name, namespace: targetOf(object) }, data: object.data ?? {} }
  await api.apply(ConfigMaps, copy, { fieldManager: 'muster-copies' })
  log.info('copied', { name, to: copy.metadata.namespace })
  return { requeueAfter: '10m' }
}, labelled)

copies.on.delete('take-away', ({ object, name, api }) => api.delete(ConfigMaps, name, targetOf(object)), labelled)

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
await operator({ controllers: [copies] }).start(stop.signal)
