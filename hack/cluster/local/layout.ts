import { join } from 'node:path'

/** Where a local control plane keeps its things, all in one folder that only its user can read. */
export interface Layout {
  readonly folder: string
  readonly data: string
  readonly certificates: string
  /** Signed by itself: what clients trust. */
  readonly certificate: string
  readonly certificateKey: string
  readonly tokens: string
  readonly serviceAccountKey: string
  /** One event a line, when the API server is audited. */
  readonly auditLog: string
  kubeconfig(user: User): string
  log(part: Part): string
}

/** The processes of a control plane, in the order in which they start. */
export const PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const

export type Part = (typeof PARTS)[number]

/** Users of the API server. People and tests are `admin`. */
export const USERS = {
  admin: { name: 'muster-admin', groups: ['system:masters'] },
  'kube-controller-manager': { name: 'system:kube-controller-manager', groups: [] },
  'kube-scheduler': { name: 'system:kube-scheduler', groups: [] },
  kwok: { name: 'muster-kwok', groups: ['system:masters'] },
} as const satisfies Record<string, { readonly name: string; readonly groups: readonly string[] }>

export type User = keyof typeof USERS

export const users = Object.keys(USERS) as readonly User[]

export const layoutOf = (folder: string): Layout => ({
  folder,
  data: join(folder, 'etcd'),
  certificates: join(folder, 'certificates'),
  certificate: join(folder, 'certificates', 'apiserver.crt'),
  certificateKey: join(folder, 'certificates', 'apiserver.key'),
  tokens: join(folder, 'tokens.csv'),
  serviceAccountKey: join(folder, 'service-account.key'),
  auditLog: join(folder, 'audit.jsonl'),
  kubeconfig: (user) => join(folder, user === 'admin' ? 'kubeconfig' : `${user}.kubeconfig`),
  log: (part) => join(folder, `${part}.log`),
})
