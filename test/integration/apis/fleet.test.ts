import { beforeAll, describe, expect, test } from 'vitest'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { apiVersionOf, type KubeObject, pathOf, type Resource } from '#operator/model/resource.ts'
import { type ControlPlane, sharedControlPlane } from '#test/harness/index.ts'
import { DEFAULT_ROLLOUT } from '#test/worlds/fleet/builders.ts'
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
    // Devices belong to no namespace, so the name must be no other test's.
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
const WINDOW = { schedule: '0 2 * * MON-FRI', timeZone: 'Europe/Berlin', duration: '4h' }
const windowed = (more: object) => ({ ...MINIMAL, rollout: { windows: [{ ...WINDOW, ...more }] } })
const tolerating = (toleration: object) => ({ ...MINIMAL, tolerations: [toleration] })
const batches = (...list: readonly object[]) => ({ ...MINIMAL, rollout: { strategy: 'Batches', batches: list } })

describe('Deployment', () => {
  test('the least that one can write is accepted, with defaults', async () => {
    expect((await create(Deployment, MINIMAL)).spec).toEqual({
      ...MINIMAL,
      rollout: DEFAULT_ROLLOUT,
      priority: 0,
      revisionHistoryLimit: 10,
    })
  })

  test('every field is accepted, and manifests are kept as they are', async () => {
    const spec = {
      targetSelector: { matchExpressions: [{ key: 'store', operator: 'Exists' }] },
      targetExpression: "device.inventory.arch == 'arm64'",
      tolerations: [
        { key: 'example.com/lab', operator: 'Exists' },
        { key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute', tolerationSeconds: 60 },
      ],
      slot: 'firmware',
      priority: 10,
      score: { ...MANIFESTS, templated: true },
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
        windows: [WINDOW],
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
    [
      'a priority without a slot',
      { ...MINIMAL, priority: 5 },
      'spec: Invalid value: priority decides who has a slot: name the slot, or leave priority out',
    ],
    [
      'a schedule with six fields',
      windowed({ schedule: '0 0 2 * * SAT' }),
      'spec.rollout.windows[0].schedule: Invalid value: "0 0 2 * * SAT": must be five fields of cron, separated by spaces: minute hour day-of-month month day-of-week, such as "0 2 * * SAT"',
    ],
    [
      'an hour that no day has',
      windowed({ schedule: '0 24 * * *' }),
      'spec.rollout.windows[0].schedule: Invalid value: "0 24 * * *": must be five fields of cron, separated by spaces: minute hour day-of-month month day-of-week, such as "0 2 * * SAT"',
    ],
    [
      'a window that is over before anything could change',
      windowed({ duration: '10s' }),
      'spec.rollout.windows[0].duration: Invalid value: "10s": must be a duration from 1m to 168h, written as 30m, 4h or 1h30m',
    ],
    [
      'a time zone as an offset',
      windowed({ timeZone: '+02:00' }),
      'spec.rollout.windows[0].timeZone: Invalid value: "+02:00": spec.rollout.windows[0].timeZone in body should match \'^[A-Za-z]+[A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$\'',
    ],
    [
      'a toleration of nothing',
      tolerating({ value: 'a' }),
      'spec.tolerations[0]: Invalid value: key may be left out only with the operator Exists, which then bears every taint',
    ],
    [
      'a toleration of any and of one value',
      tolerating({ key: 'a', operator: 'Exists', value: 'b' }),
      'spec.tolerations[0]: Invalid value: value is for the operator Equal: leave it out, or write operator: Equal',
    ],
    [
      'a toleration for a while of what removes nothing',
      tolerating({ key: 'a', tolerationSeconds: 5 }),
      'spec.tolerations[0]: Invalid value: tolerationSeconds is for the effect NoExecute: write effect: NoExecute beside it',
    ],
    [
      'a slot that is no word',
      { ...MINIMAL, slot: 'Boot Loader' },
      'spec.slot: Invalid value: "Boot Loader": spec.slot in body should match \'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\'',
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

test('a Device takes taints and windows', async () => {
  const spec = {
    pinned: true,
    taints: [{ key: 'example.com/lab', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' }],
    windows: [WINDOW],
  }
  expect((await create(Device, spec)).spec).toEqual(spec)
  const twice = { ...spec, taints: [spec.taints[0], { ...spec.taints[0], value: 'again' }] }
  expect(await refusalOf(create(Device, twice))).toContain('Duplicate value')
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
