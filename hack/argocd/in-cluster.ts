/** Argo CD as its own manifests install it, with what a test cluster without webhooks wants otherwise. */
import { dump } from 'js-yaml'

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
      // Our commits are not signed, and gpg is one program less.
      patch('Deployment', 'argocd-repo-server', {
        spec: {
          template: {
            spec: {
              containers: [{ name: 'argocd-repo-server', env: [{ name: 'ARGOCD_GPG_ENABLED', value: 'false' }] }],
            },
          },
        },
      }),
      // Images that were loaded into the node are not asked for again.
      ...['Deployment', 'StatefulSet'].map((kind) => ({
        target: { kind },
        patch: dump([{ op: 'add', path: '/spec/template/spec/containers/0/imagePullPolicy', value: 'IfNotPresent' }]),
      })),
    ],
  })

const patch = (kind: string, name: string, content: object) => ({
  patch: dump({ apiVersion: kind === 'ConfigMap' ? 'v1' : 'apps/v1', kind, metadata: { name }, ...content }),
})
