/** Argo CD as its own manifests install it, with what a test cluster without webhooks wants otherwise. */
import { dump } from 'js-yaml'
import { goSettings } from '../process/go-settings.ts'

export interface InCluster {
  /** Argo CD's manifests/core-install, from the folder of the kustomization: a path that begins with `..`. */
  readonly manifests: string
  readonly namespace: string
  /** Seconds between two looks at Git. */
  readonly resync: number
}

/** The text of a kustomization.yaml. */
export const inCluster = ({ manifests, namespace, resync }: InCluster): string =>
  dump({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace,
    resources: [manifests],
    patches: [
      patch('ConfigMap', 'argocd-cm', {
        data: { 'timeout.reconciliation': `${resync}s`, 'timeout.reconciliation.jitter': '0s' },
      }),
      // As programs of this machine have it: what is seen of an object is what was just applied, since its controller says which generation it means.
      patch('ConfigMap', 'argocd-cmd-params-cm', { data: { 'controller.sync.wave.delay.seconds': '0' } }),
      // Our commits are not signed, and gpg is one program less.
      container('Deployment', 'argocd-repo-server', { ARGOCD_GPG_ENABLED: 'false', ...goSettings() }),
      // Before each call of the repo-server gRPC asks for a TXT record that no cluster has: where names of the world can't be asked
      // for, every look at an Application would begin with waiting for four seconds.
      container('StatefulSet', 'argocd-application-controller', { ...WITHOUT_TXT, ...goSettings() }),
      container('Deployment', 'argocd-applicationset-controller', { ...WITHOUT_TXT, ...goSettings() }),
      // Images that were loaded into the node are not asked for again.
      ...['Deployment', 'StatefulSet'].map((kind) => ({
        target: { kind },
        patch: dump([{ op: 'add', path: '/spec/template/spec/containers/0/imagePullPolicy', value: 'IfNotPresent' }]),
      })),
    ],
  })

const WITHOUT_TXT = { GRPC_ENABLE_TXT_SERVICE_CONFIG: 'false' } as const

/** Environment of a workload's container, which is called as the workload is. */
const container = (kind: string, name: string, environment: Readonly<Record<string, string>>) => {
  const env = Object.entries(environment).map(([key, value]) => ({ name: key, value }))
  return patch(kind, name, { spec: { template: { spec: { containers: [{ name, env }] } } } })
}

const patch = (kind: string, name: string, content: object) => ({
  patch: dump({ apiVersion: kind === 'ConfigMap' ? 'v1' : 'apps/v1', kind, metadata: { name }, ...content }),
})
