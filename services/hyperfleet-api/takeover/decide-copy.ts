/** What the target has that matters for one record of the source. */
export interface TargetState {
  /** Digest of the record when it was copied before; undefined when it never was. */
  readonly copiedDigest: string | undefined
  readonly isThere: boolean
  readonly isArchived: boolean
  /** The id of another living record that has its name. */
  readonly nameHolder: string | undefined
}

/** A record that another one names. */
export interface NamedRecord {
  readonly role: 'owner' | 'reference'
  readonly id: string
  /** `deleting`: it is in deletion in the target, and in the source it is not. */
  readonly state: 'here' | 'deleting' | 'missing'
}

export type CopyDecision =
  | { readonly action: 'copy' }
  /** It was copied before: look whether it still is what it was. */
  | { readonly action: 'compare' }
  /** It was copied before and deleted since. */
  | { readonly action: 'leave deleted' }
  | { readonly action: 'refuse'; readonly reason: string }

/**
 * What to do with one record (API-131): nothing that is in the target is overwritten, and nothing that was deleted there
 * since comes back.
 * @param digest of the record as the source has it now
 * @param obstacle of `findObstacle`
 */
export const decideCopy = (
  digest: string,
  target: TargetState,
  named: readonly NamedRecord[],
  obstacle: string | undefined,
): CopyDecision => {
  const { copiedDigest, isThere, isArchived, nameHolder } = target
  if (copiedDigest !== undefined) {
    if (!isThere) return { action: 'leave deleted' }
    return copiedDigest === digest
      ? { action: 'compare' }
      : refuse('it has changed in the source since it was copied, and what is in the target is not overwritten')
  }
  if (isThere || isArchived) return refuse('its id is in the target already, and not by an earlier copy')
  if (obstacle !== undefined) return refuse(obstacle)
  const missing = named.find(({ state }) => state !== 'here')
  if (missing !== undefined)
    return refuse(
      `its ${missing.role} ${missing.id} ${missing.state === 'missing' ? 'is not in the target' : 'is in deletion in the target'}`,
    )
  if (nameHolder !== undefined) return refuse(`its name is taken in the target by ${nameHolder}`)
  return { action: 'copy' }
}

const refuse = (reason: string): CopyDecision => ({ action: 'refuse', reason })
