/** How much a rule of a NetworkPolicy lets in or out, apart from its ports. SECURITY-4. */
import { isIPv4 } from 'node:net'
import type { LabelSelector, NetworkPolicyPeer, NetworkPolicyRule } from '#apis/kubernetes.ts'

/** Shares of all addresses that name no network any more: more than four times 10.0.0.0/8, or than fc00::/7. */
const MAX_SHARE = { ipv4: 4 / 2 ** 8, ipv6: 1 / 2 ** 7 }

const shareOf = (cidrs: readonly string[]): number =>
  cidrs.reduce((sum, cidr) => sum + 2 ** -Number(cidr.split('/')[1] ?? 128), 0)

/** Together: halves of everything are everything. What they leave out does not count, as the rest is still anywhere. */
const isBroad = (peers: readonly NetworkPolicyPeer[]): boolean => {
  const cidrs = [...new Set(peers.flatMap(({ ipBlock }) => ipBlock?.cidr ?? []))]
  const isOfIPv4 = (cidr: string) => isIPv4(cidr.split('/')[0] ?? '')
  return (
    shareOf(cidrs.filter(isOfIPv4)) > MAX_SHARE.ipv4 ||
    shareOf(cidrs.filter((cidr) => !isOfIPv4(cidr))) > MAX_SHARE.ipv6
  )
}

/** Whether a selector names no namespace: it has neither a label nor a list of values, and so takes those that anyone makes. */
const isOfAll = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && !matchExpressions.some(({ operator }) => operator === 'In')

const peersOf = ({ from, to }: NetworkPolicyRule): readonly NetworkPolicyPeer[] => [...(from ?? []), ...(to ?? [])]

/** Whether a rule says of no end where it is: no peer at all, every address, or pods of every namespace, whose labels their makers choose. */
export const isAnywhere = (rule: NetworkPolicyRule): boolean => {
  const peers = peersOf(rule)
  return (
    peers.length === 0 ||
    isBroad(peers) ||
    peers.some(({ namespaceSelector }) => namespaceSelector !== undefined && isOfAll(namespaceSelector))
  )
}

/** Whether rules that are narrow each are anywhere together. */
export const areAnywhere = (rules: readonly NetworkPolicyRule[]): boolean => isBroad(rules.flatMap(peersOf))
