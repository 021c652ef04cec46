import { beforeAll, describe, expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '#operator/model/resource.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { refusalOf } from './refusal.ts'

let cluster: ControlPlane
let namespace: string

beforeAll(async () => {
  cluster = await sharedControlPlane()
  namespace = await cluster.namespace('fleet')
})

let made = 0

const create = (resource: Resource, spec: object, name?: string): Promise<KubeObject<object, object>> => {
  made += 1
  return cluster.rest('POST', `${pathOf(resource, { namespace })}?fieldValidation=Strict`, {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    // Devices belong to no namespace, so the name must be nobody else's.
    metadata: { name: name ?? `${namespace}-${made}` },
    spec,
  })
}

const PROCESS = { type: 'Process', data: { command: ['/usr/bin/agent', '--verbose'] } }
const MANIFESTS = {
  type: 'KubernetesManifests',
  data: { manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { b: 'c' } }] },
}
const MINIMAL = { targetSelector: { matchLabels: { region: 'eu' } }, score: PROCESS }
const batches = (...list: readonly object[]) => ({ ...MINIMAL, rollout: { strategy: 'Batches', batches: list } })

describe('Deployment', () => {
  test('the least that one can write is accepted, with defaults', async () => {
    expect((await create(Deployment, MINIMAL)).spec).toEqual({
      ...MINIMAL,
      rollout: {
        strategy: 'AllAtOnce',
        approval: 'Automatic',
        successThreshold: 90,
        updateTimeout: '24h',
        offlineGrace: '5m',
        onFailure: 'Suspend',
        paused: false,
      },
      revisionHistoryLimit: 10,
    })
  })

  test('every field is accepted, and manifests are kept as they are', async () => {
    const spec = {
      targetSelector: { matchExpressions: [{ key: 'store', operator: 'Exists' }] },
      score: MANIFESTS,
      rollout: {
        strategy: 'Batches',
        batches: [{ selector: { matchLabels: { ring: 'canary' } } }, { limit: 10 }, { limit: '50%' }],
        approval: 'Manual',
        successThreshold: 95,
        updateTimeout: '10m',
        soak: '1h',
        offlineGrace: '10m',
        progressDeadline: '24h',
        onFailure: 'Rollback',
        disruptionBudget: { groupBy: ['store'], maxUnavailable: 1 },
        paused: true,
      },
      revisionHistoryLimit: 3,
    }
    expect((await create(Deployment, spec)).spec).toEqual(spec)
  })

  const typed = 'must be given for the type'
  test.each<[string, object, string]>([
    [
      'a process with manifests',
      { ...MINIMAL, score: { type: 'Process', data: MANIFESTS.data } },
      `spec.score: Invalid value: data.command ${typed} Process, and only for it\nspec.score: Invalid value: data.manifests ${typed} KubernetesManifests, and only for it`,
    ],
    [
      'manifests with an environment',
      { ...MINIMAL, score: { ...MANIFESTS, data: { ...MANIFESTS.data, env: { A: 'b' } } } },
      'spec.score: Invalid value: data.env, data.workingDirectory and data.stopTimeout are for the type Process alone: leave them out',
    ],
    [
      'batches without a list of them',
      { ...MINIMAL, rollout: { strategy: 'Batches' } },
      'spec.rollout: Invalid value: batches must be given for the strategy Batches, and only for it',
    ],
    [
      'a batch that says nothing',
      batches({}),
      'spec.rollout.batches[0]: Invalid value: a batch must have a selector or a limit: devices that no batch takes come last by themselves',
    ],
    [
      'a batch of no device',
      batches({ limit: 0 }),
      'spec.rollout.batches[0].limit: Invalid value: 0: spec.rollout.batches[0].limit in body should be greater than or equal to 1',
    ],
    [
      'a share beyond all',
      batches({ limit: '120%' }),
      'spec.rollout.batches[0].limit: Invalid value: "120%": spec.rollout.batches[0].limit in body should match \'^([1-9]|[1-9][0-9]|100)%$\'',
    ],
  ])('%s is refused, with what to write', async (_what, spec, said) => {
    expect(await refusalOf(create(Deployment, spec))).toBe(said)
  })

  test('a name with a dot is refused: it would be another key', async () => {
    expect(await refusalOf(create(Deployment, MINIMAL, 'a.b'))).toContain(
      'the name of a Deployment must be at most 63 letters, digits and hyphens, without dots',
    )
  })
})

test('a Device has defaults, and a name without dots', async () => {
  const spec = { inventory: { arch: 'arm64' } }
  expect((await create(Device, spec)).spec).toEqual({ ...spec, pinned: false })
  expect(await refusalOf(create(Device, spec, `${namespace}.example.com`))).toContain(
    'the name of a Device must be at most 63 letters, digits and hyphens, without dots',
  )
})

describe('kubectl', () => {
  test('deployments are still those of apps', async () => {
    await create(Deployment, MINIMAL, 'hidden')
    expect(await cluster.kubectl('get', 'deployments', '--output=name', `--namespace=${namespace}`)).toBe('')
    expect(await cluster.kubectl('get', 'fleetdep', '--output=name', `--namespace=${namespace}`)).toContain(
      'deployment.fleet.nationtech.io/hidden\n',
    )
  })

  test('get shows how many devices are ready, and the batch', async () => {
    await create(Deployment, MINIMAL, 'shown')
    await cluster.rest('PATCH', pathOf(Deployment, { namespace, name: 'shown', subresource: 'status' }), {
      status: {
        ready: '8/9',
        batch: '2/4',
        revision: 3,
        aggregate: { matched: 9, succeeded: 8, failed: 0, offline: 1, held: 0 },
        rollout: {
          phase: 'Active',
          revision: 3,
          from: 2,
          startedAt: '2026-01-01T00:00:00Z',
          batch: 2,
          policy: 'sha256:00',
          batchStartedAt: '2026-01-01T00:00:00Z',
          batches: [{ size: 1, cut: '00ff' }, { size: 8 }],
        },
      },
    })
    const table = await cluster.kubectl('get', 'fleetdep', 'shown', `--namespace=${namespace}`)
    expect(table.replace(/\d+s( *)$/m, 'AGE')).toMatchInlineSnapshot(`
      "NAME    READY   FAILED   OFFLINE   HELD   BATCH   ROLLOUT   REVISION   AGE
      shown   8/9     0        1         0      2/4     Active    3          AGE
      "
    `)
  })
})
