import { isDeepStrictEqual } from 'node:util'
import type { NetworkPolicy, NetworkPolicyRule, NetworkPolicySpec } from '#apis/kubernetes.ts'
import { LINES } from '../lines.ts'
import { defineCheck, isIn, isOfCluster, NAMESPACE, nameOf, shippedOf, WORK_NAMESPACE } from '../model.ts'
import { areAnywhere, isAnywhere } from './peers.ts'

const isEmpty = (selector: NetworkPolicySpec['podSelector']): boolean =>
  Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0

const DIRECTIONS = ['Ingress', 'Egress'] as const

/** Directions in which the pods of a namespace are open but for what some policy names. */
const openDirections = (policies: readonly NetworkPolicy[], namespace: string) => {
  const ofAll = policies.filter(isIn(namespace)).filter(({ spec }) => isEmpty(spec.podSelector))
  return DIRECTIONS.filter(
    (direction) => !ofAll.some(({ spec }) => (spec.policyTypes ?? ['Ingress']).includes(direction)),
  )
}

/** Where pods are closed but for what policies open. */
const CLOSED = [
  { namespace: NAMESPACE, line: LINES.traffic },
  { namespace: WORK_NAMESPACE, line: LINES.workTraffic },
]

/** Both directions of every pod are closed but for what policies open. SECURITY-4. */
export const defaultDenyCheck = defineCheck('default-deny', ['NetworkPolicy'], ({ NetworkPolicy: policies }) =>
  CLOSED.flatMap(({ namespace, line }) =>
    openDirections(policies, namespace).map((direction) => ({
      line,
      where: nameOf('NetworkPolicy', { namespace, name: 'default-deny' }),
      what: `no policy of all pods has the type ${direction}: what no other policy names is open`,
      todo: 'apply it again from kustomize/base/network',
    })),
  ),
)

/** Whether a policy of all pods opens every way of a direction: beside it no other one closes any. */
const opensAll = (policies: readonly NetworkPolicy[], namespace: string, direction: 'ingress' | 'egress'): boolean =>
  policies
    .filter(isIn(namespace))
    .some(
      ({ spec }) =>
        isEmpty(spec.podSelector) && spec[direction]?.some((rule) => isAnywhere(rule) && !rule.ports?.length) === true,
    )

/** One way to correct it is for all. */
const MAX_NAMED = 5

/** Those that an earlier release made have no policy: pools write none where a cluster is. SECURITY-20. */
export const clusterTrafficCheck = defineCheck(
  'cluster-traffic',
  ['Namespace', 'NetworkPolicy'],
  ({ Namespace: namespaces, NetworkPolicy: policies }) =>
    namespaces
      .filter(isOfCluster)
      .map(({ metadata: { name } }) => ({
        name,
        open: openDirections(policies, name),
        opened: (['ingress', 'egress'] as const).filter((direction) => opensAll(policies, name, direction)),
      }))
      .filter(({ open, opened }) => open.length + opened.length > 0)
      .slice(0, MAX_NAMED)
      .map(({ name, open, opened }) => ({
        line: LINES.clusterTraffic,
        where: nameOf('Namespace', { name }),
        what:
          open.length > 0
            ? `no policy of all pods has the type ${open.join(' or ')}: a pod there has every way that no other policy closes`
            : `a policy of all pods opens every ${opened.join(' and every ')}`,
        todo: `take out what opens every way, and kubectl apply --namespace=${name} -f kustomize/pools/beside/network.yaml, or for all namespaces the loop of docs/upgrade.md. Where the manager of pools has --clusterpool-pod-network=open, all that it makes are named here`,
      })),
)

/** Devices may come from anywhere: NATS lets in keys that it knows, by TLS. */
const isOfDevices = ({ metadata }: NetworkPolicy, { ports = [] }: NetworkPolicyRule): boolean =>
  metadata.name.startsWith('nats') && ports.length > 0 && ports.every(({ port }) => port === 'client' || port === 4222)

/** No rule opens a way to or from anywhere, apart from those that the install opens. SECURITY-4. */
export const openTrafficCheck = defineCheck(
  'open-traffic',
  ['NetworkPolicy'],
  ({ NetworkPolicy: policies }, shipped) => {
    const known = shippedOf(shipped, 'NetworkPolicy')
    // Where tasks make pods the ways are the overlay's.
    return policies.filter(isIn(NAMESPACE)).flatMap((policy) => {
      const { metadata, spec } = policy
      const own = known.find(
        (each) => each.metadata.name === metadata.name && isDeepStrictEqual(each.spec.podSelector, spec.podSelector),
      )
      const open = (['ingress', 'egress'] as const).flatMap((direction) => {
        const rules = (spec[direction] ?? [])
          .filter((rule) => !isOfDevices(policy, rule))
          .filter((rule) => own?.spec[direction]?.some((each) => isDeepStrictEqual(each, rule)) !== true)
        const wide = rules.filter(isAnywhere)
        const named = wide.length === 0 && areAnywhere(rules) ? rules : wide
        return named.map((rule) => `${direction} ${direction === 'ingress' ? 'from' : 'to'} anywhere, ${portsOf(rule)}`)
      })
      const where = nameOf('NetworkPolicy', metadata)
      return open.map((what) => ({
        line: LINES.traffic,
        where,
        what,
        todo: 'name the peers and the ports, or delete it',
      }))
    })
  },
)

const portsOf = ({ ports = [] }: NetworkPolicyRule): string =>
  ports.length === 0 ? 'at every port' : `at ${ports.map(({ port }) => port ?? 'every port').join(', ')}`
