/** The managers of a suite as Deployments of an environment that has none: kustomize/overlays/dev, as it is committed. */
import { dump, load } from 'js-yaml'
import type { ManagerName } from '../suite.ts'

/** Below the overlay. */
const SENTINELS = 'sentinels'

/** What the overlay takes for each manager. */
const RESOURCES: Readonly<Record<ManagerName, string>> = {
  sentinels: SENTINELS,
  adapters: '../../adapter',
  pools: '../../pools',
  clusters: '../../pools',
  devices: '../../clusterdevices',
  fleet: '../../fleet',
}

/** One Deployment for every SentinelConfig there is; the shards of kustomize/shards have one each, by its name. */
const EVERY_SENTINEL = {
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  resources: ['../../../sentinel'],
  labels: [{ pairs: { app: 'cluster-sentinel' }, includeSelectors: true }],
  patches: [
    {
      target: { kind: 'Deployment', name: 'sentinel' },
      // The first argument is the name of the shard.
      patch: dump([{ op: 'remove', path: '/spec/template/spec/containers/0/args/0' }]),
    },
  ],
}

/** Machines of a suite choose their labels: no person is there to set them. */
const DEVICES_CHOOSE_LABELS = {
  target: { kind: 'Deployment', name: 'fleet-operator' },
  patch: dump([{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--device-labels=*' }]),
}

interface Overlay {
  readonly resources: readonly string[]
  readonly components: readonly string[]
  readonly patches: readonly { readonly path: string }[]
}

/** What the overlay of developers does for want of volumes. */
const ON_MEMORY: readonly string[] = ['no-claim.yaml', 'api-on-memory.yaml', 'nats-on-memory.yaml']

/** The text of an overlay's kustomization.yaml with data in volumes: NATS with a claim of its own, the API in PostgreSQL. */
export const withVolumes = (kustomization: string): string => {
  const overlay = load(kustomization) as Overlay
  return dump({
    ...overlay,
    components: ['../../components/postgres', ...overlay.components],
    patches: overlay.patches.filter(({ path }) => !ON_MEMORY.includes(path)),
  })
}

/**
 * The files of a commit that gives an overlay these managers, by their paths below the overlay.
 * @param kustomization The text of its kustomization.yaml.
 */
export const withManagers = (
  kustomization: string,
  managers: readonly ManagerName[],
): Readonly<Record<string, string>> => {
  const overlay = load(kustomization) as Overlay
  const added = new Set(managers.map((name) => RESOURCES[name]))
  return {
    'kustomization.yaml': dump({
      ...overlay,
      resources: [...overlay.resources, ...added],
      ...(managers.includes('fleet') && { patches: [...overlay.patches, DEVICES_CHOOSE_LABELS] }),
    }),
    ...(added.has(SENTINELS) && { [`${SENTINELS}/kustomization.yaml`]: dump(EVERY_SENTINEL) }),
  }
}
