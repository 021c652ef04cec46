import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ARGOCD } from '../argocd/binaries.ts'
import { CLUSTER_API } from '../cluster-api/binaries.ts'
import { CONTROL_PLANE, NEXT_KUBERNETES } from '../controlplane/binaries.ts'
import { NODE_PROGRAMS } from '../kindnode/binaries.ts'
import { moduleVersion, versionIn } from './module-version.ts'

const GO_MOD = `module muster.dev/hack/it

replace k8s.io/api => k8s.io/api v0.36.3

require k8s.io/klog/v2 v2.140.0

require (
\tk8s.io/api v0.36.0
\tk8s.io/kubernetes v1.36.3 // indirect
\tk8s.io/kubernetes/more v1.0.0
)
`

test.for<readonly [what: string, module: string, version: string]>([
  ['one of a block, with a comment', 'k8s.io/kubernetes', 'v1.36.3'],
  ['one in a line of its own', 'k8s.io/klog/v2', 'v2.140.0'],
  ['what is required, not what replaces it', 'k8s.io/api', 'v0.36.0'],
])('the version that go.mod requires: %s', ([, module, version]) => {
  expect(versionIn(GO_MOD, module)).toBe(version)
})

test('a module that go.mod does not require has no version', () => {
  expect(() => versionIn(GO_MOD, 'k8s.io/kube')).toThrow('go.mod requires no module k8s.io/kube')
  expect(() => moduleVersion(join(import.meta.dirname, '../controlplane'), 'k8s.io/kube')).toThrow('no module')
})

test('programs say the version of the modules that they are built from', () => {
  for (const { version, flags } of [CONTROL_PLANE, NEXT_KUBERNETES, ARGOCD, NODE_PROGRAMS, CLUSTER_API]) {
    expect(version).toMatch(/^v\d+\.\d+\.\d+$/)
    expect(flags.at(-1)).toContain(version.slice(1))
  }
})

test.each([CONTROL_PLANE, NEXT_KUBERNETES])(
  'Kubernetes is built with its libraries of the same version: $title',
  ({ module, version }) => {
    const goMod = readFileSync(join(module, 'go.mod'), 'utf8')
    const libraries = [...goMod.matchAll(/^replace (k8s\.io\/\S+) => \1 (\S+)$/gm)].map(([, , library]) => library)
    expect(libraries.length).toBeGreaterThan(30)
    expect([...new Set(libraries)]).toEqual([version.replace('v1.', 'v0.')])
  },
)

test('the next release of Kubernetes is one minor release after that of the control plane', () => {
  const [minor, next] = [CONTROL_PLANE, NEXT_KUBERNETES].map(({ version }) => Number(version.split('.')[1]))
  expect(next).toBe(Number(minor) + 1)
})
