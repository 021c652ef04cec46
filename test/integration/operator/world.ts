import { vi } from 'vitest'
import { type Api, createApi } from '#operator/client/api.ts'
import type { Transport } from '#operator/client/transport.ts'
import {
  type AnyController,
  type DeepPartial,
  defineResource,
  type Logger,
  type Operator,
  type OperatorOptions,
  operator,
} from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import { type ControlPlane, RestError } from '#test/harness/index.ts'
import { Widget, type WidgetSpec } from './world-kind.ts'

export { IN_ANNOTATIONS, Widget } from './world-kind.ts'

export const ConfigMap = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
})

export const widgetCrd = (plural = 'widgets', kind = 'Widget') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.test.muster.dev` },
  spec: {
    group: 'test.muster.dev',
    scope: 'Namespaced',
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { size: { type: 'integer', minimum: 0 }, color: { type: 'string' } },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
})

/** A namespace of one's own, widgets in it, and operators that are stopped at the end. */
export interface World extends AsyncDisposable {
  readonly namespace: string
  readonly api: Api
  readonly transport: Transport
  create(name: string, spec?: Partial<WidgetSpec>, metadata?: Partial<Widget['metadata']>): Promise<Widget>
  change(name: string, change: DeepPartial<Widget>): Promise<Widget>
  get(name: string): Promise<Widget | undefined>
  remove(name: string): Promise<void>
  /** Runs controllers on this namespace; resolves when they are ready. */
  run(controllers: readonly AnyController[], options?: Partial<OperatorOptions>): Promise<Operator>
}

export const world = async (plane: ControlPlane): Promise<World> => {
  await install(plane)
  const transport = await plane.transport()
  const api = createApi(transport)
  const namespace = await plane.namespace('operator')
  const operators: Operator[] = []
  return {
    namespace,
    api,
    transport,
    create: (name, spec = {}, metadata = {}) =>
      api.create(Widget, { spec: { size: 1, ...spec }, metadata: { name, namespace, ...metadata } }),
    change: (name, body) => api.patch(Widget, { name, namespace, type: 'merge', body }),
    get: (name) => api.get(Widget, name, namespace),
    remove: (name) => api.delete(Widget, name, namespace),
    async run(controllers, options = {}) {
      const one = operator({ controllers, transport, namespaces: [namespace], log: silent, ...options })
      operators.push(one)
      void one.start().catch(() => {})
      await one.ready
      return one
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(operators.map((one) => one.stop()))
      await transport.close()
    },
  }
}

/** The CRD, once for all test files: by the first. */
const install = async ({ rest }: ControlPlane): Promise<void> => {
  try {
    await rest('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetCrd())
  } catch (error) {
    if (!(error instanceof RestError && error.status === 409)) throw error
  }
  await eventually(() => rest('GET', '/apis/test.muster.dev/v1/widgets'))
}

/** Until it no longer throws. */
export const eventually = <T>(check: () => T | Promise<T>, timeout = 20_000): Promise<T> =>
  vi.waitFor(check, { timeout, interval: 20 })

/** A logger that remembers its lines, as 'level message'. */
export const memoryLog = (lines: string[] = []): Logger & { readonly lines: string[] } => {
  const line = (level: string) => (message: string) => {
    lines.push(`${level} ${message}`)
  }
  const log: Logger & { readonly lines: string[] } = {
    lines,
    debug: () => {},
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: () => log,
  }
  return log
}
