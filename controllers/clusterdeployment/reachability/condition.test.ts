/** What Unreachable says of a cluster: CLUSTER-19, CLUSTER-20, CLUSTER-21, CLUSTER-40, CLUSTER-41. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ClusterDeployment, UNREACHABLE } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import { withConditions } from '#operator/model/conditions.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import {
  isProbed,
  judge,
  knownBefore,
  LONG_MS,
  type Look,
  needsKubeconfig,
  nextReachability,
  saidBefore,
  unreachableConditions,
} from './condition.ts'
import type { Reachability } from './findings.ts'

const ANSWERS: Look = { kind: 'Answers', apiURL: 'https://one.example' }
const SILENT: Look = { kind: 'Silent', apiURL: 'https://one.example', why: 'connection refused' }
const NO_KUBECONFIG: Look = { kind: 'NoKubeconfig', why: 'the Secret one/admin is not there' }

const MINUTE = 60_000

/** Looks a minute after each other; what was said after each. */
const story = (looks: readonly Look[], before?: Reachability): readonly Reachability[] => {
  let said = before
  let failures = 0
  let isKnown = before !== undefined && before.status !== 'Unknown'
  return looks.map((look) => {
    failures = look.kind === 'Answers' ? 0 : failures + 1
    isKnown ||= look.kind === 'Answers'
    said = judge(said, look, { isKnown, failures, ms: Math.max(0, failures - 1) * MINUTE })
    return said
  })
}

const short = ({ status, reason }: Reachability): string => `${status} ${reason}`
const times = (count: number, look: Look): readonly Look[] => Array.from({ length: count }, () => look)

describe('CLUSTER-20: a cluster', () => {
  test('that was never reached is not called unreachable, however long that lasts', () => {
    expect([...new Set(story(times(100, SILENT)).map(short))]).toEqual(['Unknown NotReachedYet'])
  })

  test('that answered is unreachable after three looks in vain, and no more with one that is not', () => {
    expect(story([ANSWERS, ...times(3, SILENT), ANSWERS, SILENT]).map(short)).toEqual([
      'False ClusterReachable',
      'False ClusterReachable',
      'False ClusterReachable',
      'True ErrorConnectingToCluster',
      'False ClusterReachable',
      'False ClusterReachable',
    ])
  })

  test('whose kubeconfig can’t be used is not known to be either', () => {
    expect(story([ANSWERS, NO_KUBECONFIG, ANSWERS]).map(short)).toEqual([
      'False ClusterReachable',
      'Unknown KubeconfigUnusable',
      'False ClusterReachable',
    ])
  })

  test('CLUSTER-41: that answered once is not taken for one that never did, whatever becomes of its kubeconfig', () => {
    expect(story([ANSWERS, NO_KUBECONFIG, SILENT, SILENT, NO_KUBECONFIG, SILENT]).map(short)).toEqual([
      'False ClusterReachable',
      'Unknown KubeconfigUnusable',
      'Unknown NotReachedYet',
      'True ErrorConnectingToCluster',
      'True ErrorConnectingToCluster',
      'True ErrorConnectingToCluster',
    ])
  })
})

describe('CLUSTER-21: a cluster that is unreachable', () => {
  const unreachable: Reachability = { status: 'True', reason: 'ErrorConnectingToCluster', message: 'refused' }

  test('is so for long when it was silent for half an hour', () => {
    const said = story(times(LONG_MS / MINUTE + 1, SILENT), unreachable).map(short)
    expect(said.slice(0, -1).every((one) => one === 'True ErrorConnectingToCluster')).toBe(true)
    expect(said.at(-1)).toBe('True UnreachableForLong')
  })

  test('for long stays that for the next process, until it answers', () => {
    const forLong = { ...unreachable, reason: 'UnreachableForLong' }
    expect(story([SILENT, ANSWERS, SILENT], forLong).map(short)).toEqual([
      'True UnreachableForLong',
      'False ClusterReachable',
      'False ClusterReachable',
    ])
  })

  test('whatever was seen, it is for long only after half an hour in which no look was answered', () => {
    const look = fc.constantFrom(ANSWERS, SILENT, SILENT, SILENT, NO_KUBECONFIG)
    fc.assert(
      fc.property(fc.array(fc.tuple(look, fc.integer({ min: 1, max: 20 })), { maxLength: 20 }), (parts) => {
        const looks = parts.flatMap(([one, count]) => times(count, one))
        for (const [index, said] of story(looks).entries()) {
          if (said.reason !== 'UnreachableForLong') continue
          const last = looks.slice(Math.max(0, index - LONG_MS / MINUTE), index + 1)
          expect(last.some(({ kind }) => kind === 'Answers')).toBe(false)
          expect(looks.slice(0, index).some(({ kind }) => kind === 'Answers')).toBe(true)
        }
      }),
    )
  })
})

describe('CLUSTER-40: the next manager', () => {
  const status = (uid: string): NonNullable<ClusterDeployment['status']> => ({
    powerState: 'Running',
    reachability: { uid, silentSeconds: 1_200 },
    conditions: [...withConditions([], [{ type: UNREACHABLE, status: 'True', reason: 'x', message: '' }], new Date(0))],
  })
  const cluster = aClusterDeployment()

  test('counts on from what the status says, unless that is the status of another ClusterDeployment', () => {
    const own = { ...cluster, status: status(cluster.metadata.uid) }
    expect([knownBefore(own), saidBefore(own)?.status]).toEqual([{ isKnown: true, ms: 1_200_000 }, 'True'])
    const copy = { ...cluster, status: status('another') }
    expect([knownBefore(copy), saidBefore(copy)]).toEqual([{ isKnown: false, ms: 0 }, undefined])
    expect(knownBefore(cluster)).toEqual({ isKnown: false, ms: 0 })
  })

  test('knows one that an earlier release called unreachable for long, which wrote down no time', () => {
    const conditions = [
      ...withConditions(
        [],
        [{ type: UNREACHABLE, status: 'True', reason: 'UnreachableForLong', message: '' }],
        new Date(0),
      ),
    ]
    expect(knownBefore({ ...cluster, status: { conditions } })).toEqual({ isKnown: true, ms: LONG_MS })
  })

  test('keeps the time until something was found, and begins anew when the cluster was asleep', () => {
    const own = { ...cluster, status: status(cluster.metadata.uid) }
    const { uid } = cluster.metadata
    expect(nextReachability(own, { installed: true, power: 'Running' }, undefined)?.silentSeconds).toBe(1_200)
    expect(nextReachability(own, { installed: true, power: 'Resuming' }, undefined)).toEqual({ uid, silentSeconds: 0 })
    expect(nextReachability(cluster, { installed: true, power: 'Running' }, undefined)).toBeUndefined()
  })
})

describe('CLUSTER-19: of a ClusterDeployment', () => {
  const named = { clusterMetadata: { adminKubeconfigSecretRef: { name: 'admin' } } }
  const finding = { unreachable: { status: 'False', reason: 'ClusterReachable', message: '' } } as const
  const running = { installed: true, power: 'Running' }
  const say = (cluster: ClusterDeployment, state: typeof running, found?: typeof finding) =>
    unreachableConditions(cluster, state, found).map(short)

  test('that is not installed nothing is said', () => {
    expect(say(aClusterDeployment({}, named), { installed: false, power: 'Running' }, finding)).toEqual([])
  })

  test('without a kubeconfig it is said that there is none', () => {
    expect(say(aClusterDeployment(), running)).toEqual(['Unknown NoKubeconfig'])
  })

  test.each(['Hibernating', 'Resuming', 'Stopping', undefined])('that is %s nothing is known', (power) => {
    expect(say(aClusterDeployment({}, named), { installed: true, power: power as string }, finding)).toEqual([
      'Unknown NotRunning',
    ])
  })

  test('what is known stays when a process begins, until it has looked', () => {
    const cluster = aClusterDeployment({}, named)
    expect(say(cluster, running)).toEqual(['Unknown NotReachedYet'])
    const conditions = [...withConditions([], [{ type: UNREACHABLE, ...finding.unreachable }], new Date(0))]
    expect(say({ ...cluster, status: { conditions } }, running)).toEqual([])
  })

  test('the API server is looked at while it runs and its kubeconfig is named; else its kubeconfig is looked for until all is known', () => {
    const status = (powerState: string, apiURL?: string) => ({ powerState, ...(apiURL !== undefined && { apiURL }) })
    const cases: readonly [ClusterDeployment, string][] = [
      [aClusterDeployment({}, { ...named, installed: false }), ''],
      [aClusterDeployment(), 'kubeconfig'],
      [{ ...aClusterDeployment({}, named), status: status('Running') }, 'probe'],
      [{ ...aClusterDeployment({}, named), status: status('Hibernating') }, 'kubeconfig'],
      [{ ...aClusterDeployment({}, named), status: status('Hibernating', 'https://one.example') }, ''],
      [{ ...aClusterDeployment({}, { ...named, powerState: 'Hibernating' }), status: status('Running', 'x') }, ''],
      [{ ...aClusterDeployment({ deletionTimestamp: 'now' }, named), status: status('Running') }, ''],
    ]
    for (const [cluster, expected] of cases) {
      const looked = [needsKubeconfig(cluster) && 'kubeconfig', isProbed(cluster) && 'probe'].filter(Boolean)
      expect(looked.join()).toBe(expected)
    }
  })
})
