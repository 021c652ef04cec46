import type { LabelSelector } from '#operator/model/selector.ts'
import { each, type Manifest, type Rule } from './manifest.ts'
import { running, selected } from './workload.ts'

interface Service {
  readonly selector: Readonly<Record<string, string>>
  readonly ports: readonly { readonly port: number; readonly targetPort?: string | number }[]
}

/** A Service leads to a port that its pods have. */
export const servicesLeadSomewhere: Rule = (objects) =>
  each(['Service'], (object: Manifest) => {
    const { selector, ports } = object.spec as Service
    const pods = selected(running(objects), { matchLabels: selector })
    if (pods.length === 0) return ['it selects no pod']
    const has = (target: string | number) =>
      pods.every((pod) => pod.ports.some(({ name, containerPort }) => name === target || containerPort === target))
    return ports
      .map(({ port, targetPort = port }) => targetPort)
      .filter((target) => !has(target))
      .map((target) => `not every pod of its has the port ${target}`)
  })(objects)

interface Monitor {
  readonly selector: LabelSelector
  readonly podMetricsEndpoints: readonly { readonly port: string }[]
}

/** Prometheus scrapes a port that the pods have, by its name. */
export const monitorsScrapeSomething: Rule = (objects) =>
  each(['PodMonitor'], (object: Manifest) => {
    const { selector, podMetricsEndpoints } = object.spec as Monitor
    const pods = selected(running(objects), selector)
    if (pods.length === 0) return ['it selects no pod']
    return podMetricsEndpoints.flatMap(({ port }) =>
      pods
        .filter(({ ports }) => !ports.some(({ name }) => name === port))
        .map(({ name }) => `${name} has no port ${port}`),
    )
  })(objects)
