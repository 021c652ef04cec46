import { join } from 'node:path'
import type { Layout, Part } from './layout.ts'

export interface Ports {
  readonly apiserver: number
  /** kwok's kubelet-like server, which can't be switched off. */
  readonly kwok: number
}

/**
 * The arguments of each process, which runs with the layout's folder as its working directory.
 *
 * etcd listens on a unix socket inside that private folder: no port to collide on, and no other user can reach it.
 * Its advertised URLs must look like TCP, but in a cluster of one they are never called.
 * The API server listens on 127.0.0.1 only; it makes its own certificate in the certificates folder on the first start.
 *
 * @param isAudited the API server keeps a log of what ServiceAccounts ask it for
 */
export const commandLine = (part: Part, layout: Layout, ports: Ports, isAudited = false): readonly string[] => {
  switch (part) {
    case 'etcd':
      return [
        '--name=muster',
        `--data-dir=${layout.data}`,
        '--listen-client-urls=unix://etcd.sock',
        '--listen-peer-urls=unix://peer.sock',
        '--advertise-client-urls=http://127.0.0.1:1',
        '--initial-advertise-peer-urls=http://127.0.0.1:1',
        '--initial-cluster=muster=http://127.0.0.1:1',
        '--unsafe-no-fsync',
        '--log-level=warn',
      ]
    case 'kube-apiserver':
      return [
        '--etcd-servers=unix://etcd.sock',
        '--bind-address=127.0.0.1',
        // Otherwise a machine without a network has no address to advertise, and endpoints may not be a loopback address.
        '--advertise-address=127.0.0.1',
        '--endpoint-reconciler-type=none',
        `--secure-port=${ports.apiserver}`,
        `--cert-dir=${layout.certificates}`,
        `--token-auth-file=${layout.tokens}`,
        '--anonymous-auth=false',
        '--authorization-mode=Node,RBAC',
        '--allow-privileged=true',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-signing-key-file=${layout.serviceAccountKey}`,
        `--service-account-key-file=${layout.serviceAccountKey}`,
        '--service-cluster-ip-range=10.0.0.0/24',
        '--profiling=false',
        ...(isAudited ? auditing(layout) : []),
      ]
    case 'kube-controller-manager':
      return [
        `--kubeconfig=${layout.kubeconfig('kube-controller-manager')}`,
        '--use-service-account-credentials=true',
        `--service-account-private-key-file=${layout.serviceAccountKey}`,
        `--root-ca-file=${layout.certificate}`,
        // nodelifecycle stays: without it kwok's node keeps its not-ready taint and nothing is scheduled.
        '--controllers=*,-node-ipam-controller',
        '--leader-elect=false',
        '--secure-port=0',
        '--profiling=false',
      ]
    case 'kube-scheduler':
      return [
        `--kubeconfig=${layout.kubeconfig('kube-scheduler')}`,
        '--leader-elect=false',
        '--secure-port=0',
        '--profiling=false',
      ]
    case 'kwok':
      return [
        `--kubeconfig=${layout.kubeconfig('kwok')}`,
        `--config=${join(import.meta.dirname, 'kwok-stages.yaml')}`,
        '--manage-nodes-with-label-selector=type=kwok',
        `--server-address=127.0.0.1:${ports.kwok}`,
      ]
  }
}

const auditing = (layout: Layout): readonly string[] => [
  `--audit-policy-file=${join(import.meta.dirname, 'audit-policy.yaml')}`,
  `--audit-log-path=${layout.auditLog}`,
  // Megabytes; a full file is kept beside the next one.
  '--audit-log-maxsize=1000',
]
