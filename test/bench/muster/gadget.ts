/**
 * Our side of the runtime benches, which the peers' gadgets match:
 *
 *   MODE=serve            finalizer, status Ready for the generation, finalizer off on delete
 *   MODE=cache-whole      only keeps the objects in the cache
 *   MODE=cache-projected  the same, with only the metadata's names and labels and the status
 */
import {
  type AnyController,
  type Context,
  controller,
  defineResource,
  type KubeObject,
  keepSmall,
  type Logger,
  operator,
} from '#operator/index.ts'
import { FINALIZER, Gadget, type GadgetSpec, type GadgetStatus } from '../gadget.ts'

type GadgetObject = KubeObject<GadgetSpec, GadgetStatus>

/** The peers' logs are off but for problems too. */
const quiet: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => console.error(message, fields),
  error: (message, fields) => console.error(message, fields),
  child: () => quiet,
}

const serve = ({ object, spec, status, patch, clock }: Context<GadgetObject>): void => {
  const { generation = 0 } = object.metadata
  if (status?.observedGeneration === generation) return
  const [before] = status?.conditions ?? []
  patch.status({
    observedGeneration: generation,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Served',
        message: `size ${spec.size}`,
        observedGeneration: generation,
        lastTransitionTime: before?.lastTransitionTime ?? clock.now().toISOString(),
      },
    ],
  })
}

const serving = (): AnyController => {
  // As many at once as controller-runtime is given.
  const gadgets = controller(Gadget, { finalizer: FINALIZER, concurrency: 10 })
  gadgets.reconcile(serve)
  gadgets.on.delete('release', () => {})
  return gadgets
}

const project = ({ apiVersion, kind, metadata, status }: GadgetObject): GadgetObject => ({
  apiVersion,
  kind,
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    labels: metadata.labels,
    deletionTimestamp: metadata.deletionTimestamp,
  },
  spec: { size: 0 },
  status,
})

/** A kind of which there are next to none: the controller that gadgets are cached for. */
const ConfigMap = defineResource<never>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
})

/** Gadgets are looked up by it and handled by none, as with controller-runtime's informer alone. */
const caching = (transform?: (object: GadgetObject) => GadgetObject): AnyController => {
  const maps = controller(ConfigMap)
  maps.watches(Gadget, () => [], transform === undefined ? {} : { transform })
  return maps
}

const modes: Readonly<Record<string, () => AnyController>> = {
  serve: serving,
  'cache-whole': () => caching(),
  'cache-projected': () => caching(project),
}

const mode = process.env.MODE ?? 'serve'
const declare = modes[mode]
if (declare === undefined) throw new Error(`MODE=${mode}: write ${Object.keys(modes).join(', ')}`)
const running = operator({ controllers: [declare()], log: quiet })
process.on('SIGTERM', () => void running.stop())
// As a manager does.
keepSmall(running.ready)
const stopped = running.start()
await running.ready
console.log('synced')
await stopped
