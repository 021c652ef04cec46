/** CLUSTER-18: a claim that runs names its kubeconfig, so a write that was overtaken is made up for at once. */
import { expect, test } from 'vitest'
import type { ClusterDeployment } from '#apis/hive.openshift.io/v1/clusterdeployment.ts'
import type { Api } from '#operator/client/api.ts'
import { ApiError } from '#operator/client/errors.ts'
import type { DaemonContext } from '#operator/engine/context.ts'
import { manualClock } from '#test/harness/clock.ts'
import { aClusterDeployment } from '#test/worlds/clusterdeployment/builders.ts'
import { findAdminKubeconfig } from './find-kubeconfig.ts'
import { Findings } from './findings.ts'

const KUBECONFIG = `
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`

const overtaken = () => new ApiError({ kind: 'Status', code: 409, reason: 'Conflict', message: 'it has been modified' })

test('overtaken by the pass that writes the status, it looks again within a tenth of a second', async () => {
  const cluster = aClusterDeployment({}, { installed: true })
  const secret = {
    metadata: { name: `${cluster.metadata.name}-admin-kubeconfig`, namespace: cluster.metadata.namespace },
    data: { kubeconfig: Buffer.from(KUBECONFIG).toString('base64') },
  }
  const written: unknown[] = []
  let overtakes = 3
  const api = {
    get: (kind: { kind: string }) => Promise.resolve(kind.kind === 'Secret' ? secret : cluster),
    patchIfUnchanged: (_kind: unknown, _object: unknown, change: unknown) => {
      if (overtakes-- > 0) return Promise.reject(overtaken())
      written.push(change)
      return Promise.resolve(cluster)
    },
  } as unknown as Api
  const [clock, ending] = [manualClock(), new AbortController()]
  const context = { api, object: cluster, clock, signal: ending.signal } as unknown as DaemonContext<ClusterDeployment>
  const daemon = findAdminKubeconfig(new Findings())(context)
  await clock.advance('300ms')
  ending.abort()
  await daemon
  expect(written).toEqual([{ spec: { clusterMetadata: { adminKubeconfigSecretRef: { name: secret.metadata.name } } } }])
})
