import { TASK_WORK } from '#hack/muster/managers.ts'
import type { LabelSelector } from '#operator/model/selector.ts'
import { type Manifest, nameOf, type Rule } from './manifest.ts'
import { type Running, running, selected } from './workload.ts'

/** Kubernetes: NetworkPolicyPeer. One without a namespaceSelector means pods of the policy's own namespace. */
interface Peer {
  readonly podSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  readonly ipBlock?: object
}

interface Allowed {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly port: string | number }[]
}

interface Policy {
  readonly name: string
  readonly podSelector: LabelSelector
  readonly policyTypes: readonly string[]
  readonly ingress: readonly Allowed[]
  readonly egress: readonly Allowed[]
  readonly pods: readonly Running[]
}

const policiesOf = (objects: readonly Manifest[]): readonly Policy[] =>
  objects
    // Where tasks apply things, no workload of an overlay runs.
    .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace !== TASK_WORK)
    .map((object) => {
      const spec = object.spec as Partial<Policy> & { podSelector: LabelSelector }
      const pods = selected(running(objects), spec.podSelector)
      return { policyTypes: ['Ingress'], ingress: [], egress: [], ...spec, name: nameOf(object), pods }
    })

const hasPort = (pods: readonly Running[], port: string | number): boolean =>
  pods.some(({ ports }) => ports.some(({ name, containerPort }) => name === port || containerPort === port))

const portsOf = ({ ports = [] }: Allowed) => ports.map(({ port }) => port)

/** The pods of the namespace that a rule's peers mean; all of them when it names none. */
const meant = (all: readonly Running[], peers: readonly Peer[] | undefined): readonly Running[] =>
  peers === undefined
    ? all
    : peers.flatMap(({ podSelector, namespaceSelector, ipBlock }) =>
        ipBlock === undefined && (podSelector !== undefined || namespaceSelector !== undefined)
          ? selected(all, podSelector ?? {})
          : [],
      )

/** Pods of ours that a policy lets be called; undefined when it is about all, or about callers elsewhere. */
const called = (all: readonly Running[], { to }: Allowed): readonly Running[] | undefined =>
  to?.every(({ podSelector, namespaceSelector }) => podSelector !== undefined && namespaceSelector === undefined)
    ? meant(all, to)
    : undefined

/** Policies match the ports of pods, not those of Services. */
export const policiesNamePodPorts: Rule = (objects) => {
  const all = running(objects)
  return policiesOf(objects).flatMap(({ name, pods, ingress, egress }) => [
    ...(pods.length === 0 ? [`${name}: it selects no pod`] : []),
    ...ingress
      .flatMap(portsOf)
      .filter((port) => !hasPort(pods, port))
      .map((port) => `${name}: no pod of its has the port ${port}`),
    ...egress.flatMap((rule) => {
      const targets = called(all, rule)
      if (targets === undefined) return []
      return portsOf(rule)
        .filter((port) => !hasPort(targets, port))
        .map((port) => `${name}: no pod that it lets be called has the port ${port}`)
    }),
  ])
}

const isDenyAll = ({ podSelector, policyTypes, ingress, egress }: Policy): boolean =>
  Object.keys(podSelector).length === 0 &&
  policyTypes.includes('Ingress') &&
  policyTypes.includes('Egress') &&
  ingress.length === 0 &&
  egress.length === 0

/** Nothing flows that is not named, and every workload has been thought of. */
export const deniedUnlessNamed: Rule = (objects) => {
  const policies = policiesOf(objects)
  if (!policies.some(isDenyAll)) return ['it needs a NetworkPolicy that selects all pods and allows nothing']
  const thoughtOf = policies.filter(({ podSelector }) => Object.keys(podSelector).length > 0)
  return running(objects)
    .filter(({ name }) => !thoughtOf.some(({ ingress, pods }) => ingress.length > 0 && isAmong(pods, name)))
    .map(({ name }) => `${name}: no NetworkPolicy says who may reach it`)
}

const isAmong = (pods: readonly Running[], name: string): boolean => pods.some((pod) => pod.name === name)

/** What one side may send the other side must take. */
export const bothSidesAgree: Rule = (objects) => {
  const all = running(objects)
  const policies = policiesOf(objects)
  const takes = (target: Running, port: string | number, caller: Running): boolean =>
    policies.some(
      ({ pods, ingress }) =>
        isAmong(pods, target.name) &&
        ingress.some((rule) => portsOf(rule).includes(port) && isAmong(meant(all, rule.from), caller.name)),
    )
  return policies.flatMap(({ name, pods, egress }) =>
    egress.flatMap((rule) =>
      (called(all, rule) ?? []).flatMap((target) =>
        portsOf(rule).flatMap((port) =>
          pods
            .filter((caller) => !takes(target, port, caller))
            .map((caller) => `${name}: ${target.name} does not take calls of ${caller.name} at ${port}`),
        ),
      ),
    ),
  )
}
