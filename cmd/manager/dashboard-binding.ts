import { type Binding, isLoopback, parseBinding } from '#operator/binding.ts'
import type { Permission } from '#operator/model/permission.ts'
import { ASKING_ABOUT_CALLERS } from './runs-permission.ts'

/** Where the dashboard is when no flag says. */
export const DASHBOARD_BINDING = { host: '127.0.0.1', port: 8083 } as const satisfies Binding

/** An address; empty or 0: nowhere. */
export const dashboardAddress = (value: string, where: string): Binding | 'Nowhere' =>
  value === '' ? 'Nowhere' : (parseBinding(value, where) ?? 'Nowhere')

/** In a pod, this machine is not a person's: every user that shares it or may forward its ports would see everything. */
export const isInCluster = (): boolean => process.env.KUBERNETES_SERVICE_HOST !== undefined

/** What asking about viewers needs, where a flag lets the dashboard be reached. */
export const dashboardPermissions = ({
  dashboardBind: binding,
}: {
  readonly dashboardBind?: Binding | 'Nowhere' | undefined
}): readonly Permission[] =>
  binding === undefined || binding === 'Nowhere' || (isLoopback(binding) && !isInCluster()) ? [] : ASKING_ABOUT_CALLERS
