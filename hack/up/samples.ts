/** The resources that `npm run up` creates: some in each shard of kustomize/samples. */

export const TYPES = ['clusters', 'nodepools'] as const

export interface Sample {
  /** The kind's plural in the API. */
  readonly type: (typeof TYPES)[number]
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  /** The name of the cluster that a node pool belongs to. */
  readonly cluster?: string
  readonly spec: Readonly<Record<string, unknown>>
}

const cluster = (name: string, labels: Sample['labels']): Sample => ({
  type: 'clusters',
  name,
  labels,
  spec: { release: '4.20.1', platform: 'sample' },
})

const nodePool = (name: string, cluster: string, replicas: number): Sample => ({
  type: 'nodepools',
  name,
  cluster,
  labels: { tier: 'sample' },
  spec: { replicas },
})

/** Owners before what they own. */
export const SAMPLES: readonly Sample[] = [
  cluster('atlanta', { region: 'us-east' }),
  cluster('boston', { region: 'us-east', pace: 'slow' }),
  cluster('seattle', { region: 'us-west' }),
  cluster('frankfurt', { region: 'eu-central' }),
  cluster('nowhere', {}),
  nodePool('atlanta-gpu', 'atlanta', 2),
  nodePool('seattle-web', 'seattle', 3),
]

/** The one that is deleted once all are Ready, with its node pool. */
export const DELETED = 'seattle'
