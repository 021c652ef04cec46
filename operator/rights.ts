/** How the rights of a controller are given to it, and the rights that this runtime needs for it. */

/** What they are comes from the calls of its tests: docs/decisions/rights-from-calls.md. */
export interface Rights {
  /** The ServiceAccount that its pods run as. */
  readonly account: string
  /** The ServiceAccount that tests run it as, alone: whatever that one calls, this controller has called. */
  readonly testAccount: string
  /** Name of its Role or ClusterRole. */
  readonly role: string
  /** Role: in one namespace. ClusterRole: in all of them. */
  readonly kind: 'Role' | 'ClusterRole'
  /** Resources that are needed in its own namespace only, although the rest is needed everywhere. */
  readonly atHome?: readonly string[]
  /** Resources that are needed only in the namespace of the accounts that tasks act as. */
  readonly ofTaskAccounts?: readonly string[]
  /** The permissions hold in all namespaces, whichever one is watched. */
  readonly everywhere?: boolean
  /** What the file begins with. */
  readonly about: string
  /** Why a resource is called, where that can't be guessed. Key: the resource as in the recording. */
  readonly why: Readonly<Record<string, string>>
  /** Rights that no test may be relied on to use, each with its reason. */
  readonly rare: readonly RareRight[]
  /** What is called only with an option, and the component that grants it then. Key: the resource as in the recording. */
  readonly optional?: Readonly<Record<string, string>>
  /** The tests that are recorded, as vitest takes them. */
  readonly tests: readonly string[]
}

/** A right that a controller must have although its tests may not show it. */
export interface RareRight {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly string[]
  readonly name?: string
  readonly reason: string
}

/** Optional: Kubernetes' own ClusterRole for servers that ask which user a caller is; the components that open such a server bind it. */
export const CALLER_REVIEWS = {
  tokenreviews: 'system:auth-delegator',
  subjectaccessreviews: 'system:auth-delegator',
} as const

/** Optional: only with --leader-elect. */
export const LEADER_ELECTION = { leases: 'kustomize/components/ha/rbac.yaml' } as const

/** Why: every controller that publishes events needs them. */
export const EVENTS = { events: 'What is done, and why, is also an event of the object; a repeated one is counted up.' }

/** Rare: the runtime reads an object again when its write has lost (409): operator/engine/send-patch.ts. */
export const readAfterConflict = (group: string, resource: string): RareRight => ({
  group,
  resource,
  verbs: ['get'],
  reason: 'Read anew when a write of it has lost against another one (409).',
})
