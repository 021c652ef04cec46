import { createHash } from 'node:crypto'

/** A namespace has the cluster's name, and namespaces have at most so many characters. RFC 1123. */
const MAX_NAME_CHARS = 63
const HASH_DIGITS = 8

/**
 * The name of a cluster, and of its namespace: the pool's name and a suffix. A long pool name is cut, with a hash of the whole
 * name behind the cut, so that pools whose names begin alike don't share names of clusters.
 */
export const buildClusterName = (poolName: string, suffix: string): string => {
  // A namespace's name may hold no dots, a pool's may.
  const plain = poolName.replaceAll('.', '-')
  const name = `${plain}-${suffix}`
  if (plain === poolName && name.length <= MAX_NAME_CHARS) return name
  const hash = createHash('sha256').update(poolName).digest('hex').slice(0, HASH_DIGITS)
  const begin = plain.slice(0, MAX_NAME_CHARS - hash.length - suffix.length - 2).replace(/-+$/, '')
  return `${begin}-${hash}-${suffix}`
}
