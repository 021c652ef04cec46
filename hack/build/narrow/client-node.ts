/**
 * What `@dot-i/k8s-operator` uses of `@kubernetes/client-node` once operator/host.ts has replaced what talks to the API server:
 * the kubeconfig, and a client that its constructor makes and that is never used.
 */
export { KubeConfig } from '@kubernetes/client-node/dist/config.js'

export class CoreV1Api {}
