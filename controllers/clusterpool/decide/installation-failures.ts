/** Which installations of a pool fail, and why: POOL-46. */
import type { Cluster } from '../model/cluster.ts'
import type { Buckets } from './buckets.ts'

/** Of what adapters say; the whole of it stands at the ClusterDeployment. */
const MAX_REASON_CHARS = 512

/** That of the oldest cluster, in the words of its adapters, behind a semicolon; empty when none fails. */
export const describeInstallationFailures = ({ broken, installing, deleting }: Buckets): string => {
  const failures = [...deleting, ...broken, ...installing].flatMap((cluster) => {
    const why = failureOf(cluster)
    return why === undefined ? [] : [`${cluster.name}: ${shorten(why)}`]
  })
  const [first, ...more] = failures
  if (first === undefined) return ''
  return more.length === 0
    ? `; an installation fails: ${first}`
    : `; installations fail: ${first}, and ${more.length} more`
}

const failureOf = ({ installed, stopped, failing }: Cluster): string | undefined =>
  installed ? undefined : (stopped ?? failing)

const shorten = (text: string): string =>
  text.length > MAX_REASON_CHARS ? `${text.slice(0, MAX_REASON_CHARS)}…` : text
