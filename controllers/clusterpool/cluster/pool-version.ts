import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { ClusterPoolSpec } from '#apis/hive.openshift.io/v1/clusterpool.ts'

/** What decides how a cluster is installed. Size, labels and lifetimes don't: clusters of another size are no others. */
export type VersionedFields = Pick<
  ClusterPoolSpec,
  'platform' | 'baseDomain' | 'imageSetRef' | 'installConfigSecretTemplateRef' | 'customizationRef' | 'inventory'
>

/** Any fixed text; another one would make every cluster of every pool with an inventory outdated. */
const INVENTORY_MARKER = 'hasInventory'
/** Enough to tell versions apart, short enough for a column. */
const DIGITS = 16

/**
 * The version of a pool: unclaimed clusters of another one are outdated and are replaced.
 *
 * It is a hash of the canonical JSON (RFC 8785) of the fields that are there: one that is empty counts as absent, so that a
 * field which a later release adds changes no version. With an inventory a fixed text is appended before the hash, whatever
 * its entries are: a pool that gets or loses its inventory replaces its clusters, a pool that gets an entry does not.
 * POOL-20.
 */
export const computePoolVersion = (spec: VersionedFields): string => {
  const { platform, baseDomain, imageSetRef, installConfigSecretTemplateRef, customizationRef, inventory } = spec
  const fields = withoutEmpty({ baseDomain, imageSetRef, installConfigSecretTemplateRef, customizationRef }) as object
  // A cloud's name says something even when nothing stands below it.
  const clouds = Object.entries(platform).map(([cloud, about]) => [cloud, withoutEmpty(about)])
  const text = `${canonicalize({ ...fields, platform: Object.fromEntries(clouds) })}${inventory === undefined ? '' : INVENTORY_MARKER}`
  return createHash('sha256').update(text).digest('hex').slice(0, DIGITS)
}

/** Without the parts that say nothing, however deep. */
const withoutEmpty = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, withoutEmpty(inner)] as const)
      .filter(([, inner]) => !isEmpty(inner)),
  )
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)
