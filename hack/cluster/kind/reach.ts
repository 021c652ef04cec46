import type { KubeconfigFile } from '../kubeconfig.ts'

export interface Address {
  readonly host: string
  readonly port: number
}

/** How we reach what an engine says is at an address. */
export type Reach = (host: string, port: number) => Promise<Address>

/** The container's own kubeconfig, as this machine has to see it: the server is a mapped port. */
export const reachedAt = (config: KubeconfigFile, host: string, port: number): KubeconfigFile => ({
  ...config,
  clusters: config.clusters.map(({ name, cluster }) => ({
    name,
    cluster: { ...cluster, server: `https://${host.includes(':') ? `[${host}]` : host}:${port}` },
  })),
})
