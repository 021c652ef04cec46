import { isDeepStrictEqual } from 'node:util'
import type { KubeObject } from '#operator/model/resource.ts'
import { LINES } from '../lines.ts'
import {
  defineCheck,
  isIn,
  NAMESPACE,
  type NetworkPolicySpec,
  nameOf,
  shippedOf,
  type TrafficRule,
  WORK_NAMESPACE,
} from '../model.ts'
import { areAnywhere, isAnywhere } from './peers.ts'

const isEmpty = (selector: NetworkPolicySpec['podSelector']): boolean =>
  Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0

const DIRECTIONS = ['Ingress', 'Egress'] as const

/** Where pods are closed but for what policies open. */
const CLOSED = [
  { namespace: NAMESPACE, line: LINES.traffic },
  { namespace: WORK_NAMESPACE, line: LINES.workTraffic },
]

/** Both directions of every pod are closed but for what policies open. SECURITY-4. */
export const defaultDenyCheck = defineCheck('default-deny', ['NetworkPolicy'], ({ NetworkPolicy: policies }) =>
  CLOSED.flatMap(({ namespace, line }) => {
    const ofAll = policies.filter(isIn(namespace)).filter(({ spec }) => isEmpty(spec.podSelector))
    return DIRECTIONS.filter(
      (direction) => !ofAll.some(({ spec }) => (spec.policyTypes ?? ['Ingress']).includes(direction)),
    ).map((direction) => ({
      line,
      where: nameOf('NetworkPolicy', { namespace, name: 'default-deny' }),
      what: `no policy of all pods has the type ${direction}: what no other policy names is open`,
      todo: 'apply it again from kustomize/base/network',
    }))
  }),
)

/** Devices may come from anywhere: NATS lets in keys that it knows, by TLS. */
const isOfDevices = ({ metadata }: KubeObject<NetworkPolicySpec>, { ports = [] }: TrafficRule): boolean =>
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
        const told = wide.length === 0 && areAnywhere(rules) ? rules : wide
        return told.map((rule) => `${direction} ${direction === 'ingress' ? 'from' : 'to'} anywhere, ${portsOf(rule)}`)
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

const portsOf = ({ ports = [] }: TrafficRule): string =>
  ports.length === 0 ? 'at every port' : `at ${ports.map(({ port }) => port ?? 'every port').join(', ')}`
