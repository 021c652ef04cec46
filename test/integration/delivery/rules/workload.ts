import type { PodSpec } from '#cmd/security/model.ts'
import { type LabelSelector, type Labels, matches, selectorOf } from '#operator/model/selector.ts'
import { type Manifest, nameOf } from './manifest.ts'

export interface Port {
  readonly name?: string
  readonly containerPort: number
}

interface Probe {
  readonly httpGet?: { readonly port: string | number }
}

export interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly ports?: readonly Port[]
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly startupProbe?: Probe
  readonly resources?: { readonly requests?: Record<string, string>; readonly limits?: Record<string, string> }
  readonly securityContext?: {
    readonly allowPrivilegeEscalation?: boolean
    readonly readOnlyRootFilesystem?: boolean
    readonly capabilities?: { readonly drop?: readonly string[] }
  }
}

export interface Workload {
  readonly replicas?: number
  readonly volumeClaimTemplates?: readonly {
    readonly apiVersion?: string
    readonly kind?: string
    readonly metadata: { readonly name: string }
    readonly spec?: { readonly volumeMode?: string }
  }[]
  readonly template: {
    readonly metadata: { readonly labels?: Labels }
    readonly spec: {
      readonly securityContext?: {
        readonly runAsNonRoot?: boolean
        readonly runAsUser?: number
        readonly seccompProfile?: { readonly type?: string }
      }
      readonly automountServiceAccountToken?: boolean
      readonly serviceAccountName?: string
      readonly containers: readonly Container[]
      readonly volumes?: PodSpec['volumes']
    }
  }
}

export const WORKLOADS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const

/** A Deployment of apps/v1 and its like; our own Deployment is none. */
export const workloadOf = (object: Manifest): Workload | undefined =>
  object.apiVersion === 'apps/v1' ? (object.spec as Workload) : undefined

/** What runs pods in a build. */
export interface Running {
  /** Kind and name. */
  readonly name: string
  readonly labels: Labels
  readonly ports: readonly Port[]
  readonly workload: Workload
  /** Whether an autoscaler says how many pods there are, two at least. */
  readonly isScaled: boolean
}

export const running = (objects: readonly Manifest[]): readonly Running[] =>
  objects.flatMap((object) => {
    const workload = WORKLOADS.some((kind) => kind === object.kind) ? workloadOf(object) : undefined
    if (workload === undefined) return []
    const isScaled = objects.some(
      ({ kind, spec }) =>
        kind === 'HorizontalPodAutoscaler' &&
        (spec as { scaleTargetRef: { name: string } }).scaleTargetRef.name === object.metadata.name,
    )
    const { metadata, spec } = workload.template
    const ports = spec.containers.flatMap((container) => container.ports ?? [])
    return [{ name: nameOf(object), labels: metadata.labels ?? {}, ports, workload, isScaled }]
  })

/** Those whose pods a selector means; one without a word means all. */
export const selected = (all: readonly Running[], selector: LabelSelector): readonly Running[] =>
  all.filter(({ labels }) => matches(selectorOf(selector), labels))
