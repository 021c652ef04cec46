/**
 * Which caller may do what. A caller holds any number of roles; an operation names the least one that it needs.
 *
 *   reader   reads resources, statuses and the change stream
 *   editor   … and creates, changes and deletes resources
 *   adapter  … and reports statuses, posts and consumes events (adapters and Sentinels)
 *   admin    everything, force-delete and purge too
 *
 * Rule: API-45.
 */
export const ROLES = ['reader', 'editor', 'adapter', 'admin'] as const

export type Role = (typeof ROLES)[number]

/** The roles of a caller that is not authenticated. */
export const UNAUTHENTICATED_ROLES: readonly Role[] = ['admin']

const HOLDERS: Readonly<Record<Role, readonly Role[]>> = {
  reader: ROLES,
  editor: ['editor', 'admin'],
  adapter: ['adapter', 'admin'],
  admin: ['admin'],
}

/** May a caller with these roles do what needs that one? */
export const permits = (needed: Role, held: readonly Role[]): boolean =>
  HOLDERS[needed].some((role) => held.includes(role))
