import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { registerProcessMetrics } from '#operator/process-metrics.ts'

/** Prometheus metrics under the Go service's names, so that its dashboards and alerts read this service too. */
export interface RequestMetrics {
  /** @param path the route with its parameters as `-` @param seconds from the request's arrival to its answer */
  observe(method: string, path: string, status: number, seconds: number): void
}

export interface Metrics extends RequestMetrics {
  readonly registry: Registry
}

export const createMetrics = (version: string): Metrics => {
  const registry = new Registry()
  const registers = [registry]
  registerProcessMetrics(registry)
  const labelNames = ['method', 'path', 'code']
  registry.setDefaultLabels({ component: 'api', version })
  const requests = new Counter({
    name: 'hyperfleet_api_requests_total',
    help: 'Requests answered',
    labelNames,
    registers,
  })
  const duration = new Histogram({
    name: 'hyperfleet_api_request_duration_seconds',
    help: 'Time from a request to its answer',
    labelNames,
    registers,
  })
  new Gauge({ name: 'hyperfleet_api_build_info', help: 'Version that runs', registers }).set(1)
  return {
    registry,
    observe: (method, path, status, seconds) => {
      const labels = { method, path, code: String(status) }
      requests.inc(labels)
      duration.observe(labels, seconds)
    },
  }
}
