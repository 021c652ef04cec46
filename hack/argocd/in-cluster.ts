/** Argo CD as its own manifests install it, with what a test cluster without webhooks and a Git server wants otherwise. */
import { dump } from 'js-yaml'

export interface InCluster {
  /** Argo CD's manifests/core-install, from the folder of the kustomization: a path that begins with `..`. */
  readonly manifests: string
  readonly namespace: string
  /** A folder of the node with Git repositories, which Applications name by `file://`. */
  readonly repositories: string
  /** Seconds between two looks at Git. */
  readonly resync: number
}

/** Repositories belong to whoever made them, not to the repo-server's user; Git reads others' only when told to. */
const GIT_TRUSTS_ALL = [
  { name: 'GIT_CONFIG_COUNT', value: '1' },
  { name: 'GIT_CONFIG_KEY_0', value: 'safe.directory' },
  { name: 'GIT_CONFIG_VALUE_0', value: '*' },
]

/** The text of a kustomization.yaml. */
export const inCluster = ({ manifests, namespace, repositories, resync }: InCluster): string =>
  dump({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    namespace,
    resources: [manifests],
    patches: [
      patch('ConfigMap', 'argocd-cm', {
        data: { 'timeout.reconciliation': `${resync}s`, 'timeout.reconciliation.jitter': '0s' },
      }),
      patch('Deployment', 'argocd-repo-server', {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'argocd-repo-server',
                  env: [...GIT_TRUSTS_ALL, { name: 'ARGOCD_GPG_ENABLED', value: 'false' }],
                  volumeMounts: [{ name: 'repositories', mountPath: repositories, readOnly: true }],
                },
              ],
              volumes: [{ name: 'repositories', hostPath: { path: repositories, type: 'Directory' } }],
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
