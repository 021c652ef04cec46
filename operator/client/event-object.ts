/** events.k8s.io/v1 Event: what is written and how it is named. */
import type { KubeObject, Resource } from '../model/resource.ts'
import type { EventSeries } from './event-correlator.ts'
import { microTime } from './lease-record.ts'
import type { ObjectReference } from './object-reference.ts'

export interface EventObject extends KubeObject<never, never> {
  /** MicroTime. */
  readonly eventTime: string
  readonly series?: { readonly count: number; readonly lastObservedTime: string }
  readonly reportingController: string
  readonly reportingInstance: string
  readonly action: string
  readonly reason: string
  readonly type: 'Normal' | 'Warning'
  readonly regarding: ObjectReference
  readonly note: string
}

export const EVENTS: Resource<EventObject> = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  scope: 'Namespaced',
  subresources: [],
}

/** The reporting controller and its process. */
export interface Reporter {
  /** A qualified name, e.g. `muster-clusterpool`. */
  readonly controller: string
  /** This process, e.g. its pod's name. */
  readonly instance: string
}

/** Events about cluster-scoped objects live in `default`, as Kubernetes' own do. */
const eventNamespace = ({ namespace = 'default' }: ObjectReference): string => namespace

/** The API server's limits, in bytes. */
const MAX_BYTES = { name: 253, instance: 128, reason: 128, note: 1024 }

/** @param suffix makes the name unique */
export const eventOf = (series: EventSeries, suffix: string, reporter: Reporter) => {
  const { type, reason, note, regarding } = series.occurrence
  return {
    metadata: {
      name: `${regarding.name.slice(0, MAX_BYTES.name - suffix.length - 1)}.${suffix}`,
      namespace: eventNamespace(regarding),
    },
    eventTime: microTime(new Date(series.firstAt)),
    reportingController: reporter.controller,
    reportingInstance: reporter.instance.slice(0, MAX_BYTES.instance),
    action: reason.slice(0, MAX_BYTES.reason), // required; we say what happened, not what was done about it
    reason: reason.slice(0, MAX_BYTES.reason),
    type,
    regarding,
    note: cut(note, MAX_BYTES.note),
    // The API server takes a series of two or more.
    ...(series.count > 1 && { series: seriesOf(series) }),
  }
}

/** The longest beginning of a text that fits, without half a character. */
const cut = (text: string, bytes: number): string =>
  text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read)

const seriesOf = ({ count, lastAt }: EventSeries) => ({ count, lastObservedTime: microTime(new Date(lastAt)) })
