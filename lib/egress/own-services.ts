/** Services of a cluster and its machines that nothing which a manager asks for others may be: they give out rights and keys. */
import { namesBlockedAddress } from './guarded-lookup.ts'

/** The API server's names within a cluster, and those at which clouds serve metadata. */
const NAMES = /^(kubernetes(\.default(\.svc(\.[a-z0-9.-]+)?)?)?|metadata(\.google\.internal)?|instance-data)\.?$/

/** Ports of the API server, kubelets, and etcd. */
const PORTS: ReadonlySet<string> = new Set(['6443', '10250', '10255', '2379'])

/**
 * Whether a list of URLs' prefixes leads to one: in the words of a report.
 * @param prefixes as `httpAllowlist` takes them
 */
export const weaknessOfTargets = (prefixes: readonly string[]) => {
  const found = prefixes.find((prefix) => {
    const url = URL.parse(prefix)
    return url !== null && (NAMES.test(url.hostname) || PORTS.has(url.port) || namesBlockedAddress(url))
  })
  if (found === undefined) return undefined
  return {
    what: `authors may have the manager ask ${found}, where a cluster or a cloud serves what it trusts its own with`,
    todo: 'take it out: what a task needs of the cluster it applies or finds as its own account',
  }
}
