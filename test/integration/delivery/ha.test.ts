import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import { kubectl } from './kustomize.ts'

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Deployment
}

interface Deployment {
  readonly replicas?: number
  readonly strategy: object
  readonly template: {
    readonly spec: {
      readonly volumes?: { readonly name: string }[]
      readonly topologySpreadConstraints?: { readonly topologyKey: string }[]
      readonly containers: {
        readonly env: { readonly name: string; readonly valueFrom?: object }[]
        readonly volumeMounts?: object[]
      }[]
    }
  }
}

const deploymentOf = (api: ReadonlyMap<string, Manifest>): Deployment => {
  const deployment = api.get('Deployment')
  if (deployment === undefined) throw new Error('the overlay has no Deployment of the API')
  return deployment.spec
}

/** What an overlay builds for the API, by kind. */
const apiOf = async (overlay: string): Promise<Map<string, Manifest>> => {
  const { stdout } = await kubectl('kustomize', `kustomize/overlays/${overlay}`)
  const all = loadAll(stdout) as Manifest[]
  return new Map(all.filter(({ metadata }) => metadata.name === 'hyperfleet-api').map((one) => [one.kind, one]))
}

test('stage runs several replicas on the PostgreSQL of a Secret, without a volume of its own', async () => {
  const api = await apiOf('stage')
  expect([...api.keys()].toSorted((a, b) => a.localeCompare(b))).toMatchInlineSnapshot(`
    [
      "Deployment",
      "HorizontalPodAutoscaler",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "Service",
      "ServiceAccount",
    ]
  `)
  const { replicas, strategy, template } = deploymentOf(api)
  const [container] = template.spec.containers
  expect({
    replicas,
    strategy,
    volumes: template.spec.volumes?.map(({ name }) => name),
    volumeMounts: container?.volumeMounts,
    database: container?.env.find(({ name }) => name === 'MUSTER_DATABASE_URL')?.valueFrom,
    spread: template.spec.topologySpreadConstraints?.map(({ topologyKey }) => topologyKey),
  }).toMatchInlineSnapshot(`
    {
      "database": {
        "secretKeyRef": {
          "key": "url",
          "name": "hyperfleet-api-database",
        },
      },
      "replicas": undefined,
      "spread": [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
      ],
      "strategy": {
        "rollingUpdate": {
          "maxSurge": 1,
          "maxUnavailable": 0,
        },
        "type": "RollingUpdate",
      },
      "volumeMounts": [
        {
          "mountPath": "/etc/hyperfleet",
          "name": "kinds",
          "readOnly": true,
        },
        {
          "mountPath": "/etc/nats",
          "name": "nats",
          "readOnly": true,
        },
        {
          "mountPath": "/etc/hyperfleet-tls",
          "name": "tls",
          "readOnly": true,
        },
      ],
      "volumes": [
        "kinds",
        "nats",
        "tls",
      ],
    }
  `)
  expect(api.get('HorizontalPodAutoscaler')?.spec).toMatchObject({
    minReplicas: 2,
    scaleTargetRef: { kind: 'Deployment' },
  })
  expect(api.get('PodDisruptionBudget')?.spec).toMatchObject({ maxUnavailable: 1 })
})

test('dev runs one replica with its database inside', async () => {
  const api = await apiOf('dev')
  const { replicas, strategy, template } = deploymentOf(api)
  expect({ replicas, strategy }).toMatchInlineSnapshot(`
    {
      "replicas": 1,
      "strategy": {
        "type": "Recreate",
      },
    }
  `)
  expect(template.spec.volumes).toContainEqual({ name: 'data', emptyDir: {} })
  expect(JSON.stringify(template)).not.toContain('MUSTER_DATABASE_URL')
  expect([...api.keys()]).not.toContain('HorizontalPodAutoscaler')
})
