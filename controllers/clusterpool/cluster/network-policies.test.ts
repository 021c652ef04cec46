/** POOL-86: what closes the namespace of a cluster. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import type { NetworkPolicy, NetworkPolicySpec } from '#apis/kubernetes.ts'
import { BLOCKED_RANGES } from '#lib/egress/guarded-lookup.ts'
import { aPool } from '#test/worlds/clusterpool/builders.ts'
import { networkPolicyManifests } from './network-policies.ts'

interface Named {
  readonly metadata: { readonly name: string }
  readonly spec: NetworkPolicySpec
}

const REPOSITORY = join(import.meta.dirname, '../../..')

test('all pods are closed first, then Jobs may call DNS, HTTPS but where metadata are, and API servers', () => {
  const policies = networkPolicyManifests(aPool(), 'pool-1')
  expect(policies.map(({ metadata }) => metadata)).toEqual(
    ['muster-default-deny', 'muster-jobs'].map((name) => ({
      name,
      namespace: 'pool-1',
      // By it providers leave them alone.
      labels: {
        'hive.openshift.io/clusterpool-uid': 'uid-pool',
        'hive.openshift.io/clusterpool-namespace': 'pools',
        'hive.openshift.io/clusterpool-name': 'pool',
      },
    })),
  )
  const [closed, jobs] = policies.map(({ spec }) => spec)
  expect(closed).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
  expect(jobs).toMatchObject({
    podSelector: { matchExpressions: [{ key: 'batch.kubernetes.io/job-name', operator: 'Exists' }] },
    policyTypes: ['Egress'],
  })
  expect(jobs).not.toHaveProperty('ingress')
  expect(jobs?.egress?.map(({ ports }) => [...new Set(ports?.map(({ port }) => port))])).toEqual([
    [53, 5353],
    [443],
    [6443],
  ])
  const exceptions = jobs?.egress?.[1]?.to?.flatMap(({ ipBlock }) => ipBlock?.except ?? [])
  expect(exceptions).toEqual([...BLOCKED_RANGES.ipv4, ...BLOCKED_RANGES.ipv6])
})

test('what administrators apply in namespaces of an earlier release is the same, and providers leave it alone', () => {
  const applied = loadAll(
    readFileSync(join(REPOSITORY, 'kustomize/pools/beside/network.yaml'), 'utf8'),
  ) as readonly NetworkPolicy[]
  const written = networkPolicyManifests(aPool(), 'pool-1')
  const nameAndSpec = ({ metadata: { name }, spec }: Named) => ({ name, spec })
  expect(applied.map(nameAndSpec)).toEqual(written.map(nameAndSpec))
  for (const { metadata } of applied) expect(metadata.labels).toHaveProperty('hive.openshift.io/clusterpool-uid')
})
