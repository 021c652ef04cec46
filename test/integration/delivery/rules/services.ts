import type { LabelSelector } from '#operator/model/selector.ts'
import { each, type Manifest, type Rule } from './manifest.ts'
import { type Container, running, selected, workloadOf } from './workload.ts'

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

/** Of an AdapterTask and a SentinelConfig. */
interface Caller {
  readonly hyperfleetAPI?: { readonly url?: string }
}

/** As containers are told: by an argument or its variable. */
const URLS = /^(--hyperfleet-api-url=|MUSTER_HYPERFLEET_API_URL=)http:/
const AUTHORITIES = /^(--hyperfleet-api-ca=|MUSTER_HYPERFLEET_API_CA=)/
/** Another server is known by the authorities of the machine. */
const ELSEWHERE = /^(--hyperfleet-api-url=|MUSTER_HYPERFLEET_API_URL=)https:\/\/(?!hyperfleet-api[./:]|hyperfleet-api$)/

const wordsOf = ({ args = [], env = [] }: Container): readonly string[] => [
  ...args,
  ...env.map(({ name, value = '' }) => `${name}=${value}`),
]

/** Each that shows the HyperFleet API a token knows whom it speaks to. GITOPS-49. */
export const theApiIsKnown: Rule = (objects) =>
  each(['AdapterTask', 'Deployment', 'SentinelConfig'], (object: Manifest) => {
    const url = (object.spec as Caller | undefined)?.hyperfleetAPI?.url
    const named = url?.startsWith('http:') ? ['name the HyperFleet API by https://'] : []
    const callers = (workloadOf(object)?.template.spec.containers ?? [])
      .map(wordsOf)
      .filter((words) => words.some((word) => word.startsWith('--hyperfleet-api-token-file=')))
    return [
      ...named,
      ...callers.flatMap((words) => [
        ...(words.some((word) => URLS.test(word)) ? ['name the HyperFleet API by https://'] : []),
        ...(words.some((word) => AUTHORITIES.test(word) || ELSEWHERE.test(word))
          ? []
          : ['say by MUSTER_HYPERFLEET_API_CA by which authorities it knows the HyperFleet API']),
      ]),
    ]
  })(objects)
