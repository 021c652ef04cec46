import type { KubeconfigFile } from '../kubeconfig.ts'

/** The container's own kubeconfig, as this machine has to see it: the server is a mapped port. */
export const reachedAt = (config: KubeconfigFile, host: string, port: number): KubeconfigFile => ({
  ...config,
  clusters: config.clusters.map(({ name, cluster }) => ({
    name,
    cluster: { ...cluster, server: `https://${host.includes(':') ? `[${host}]` : host}:${port}` },
  })),
})
