import { freePort } from '#hack/process/ports.ts'
import { type MusterProcess, type OwnControlPlane, startControlPlane, startMuster } from '#test/harness/index.ts'

export const NAMESPACE = 'hyperfleet-system'

/** A cluster that has everything of the stage overlay. */
export const deliveredCluster = async (): Promise<OwnControlPlane> => {
  const cluster = await startControlPlane({ parts: ['etcd', 'kube-apiserver'] })
  const overlay = new URL('../../../kustomize/overlays/stage', import.meta.url).pathname
  await cluster.kubectl('apply', '--server-side', '-k', overlay)
  return cluster
}

/**
 * A manager that serves its webhook as it is delivered, with the rights of its ServiceAccount, but for the Service: no pod runs
 * here, so the API server calls the process itself, and refuses everything while that does not answer.
 * @param controller also the last part of the webhook's path; its account and configuration are named `hyperfleet-<controller>`
 */
export const servingWebhook = async (
  cluster: OwnControlPlane,
  controller: 'sentinel' | 'adapter',
  ...flags: readonly string[]
): Promise<MusterProcess> => {
  const port = await freePort()
  const url = `https://127.0.0.1:${port}/validate/${controller}`
  const patch = [
    { op: 'replace', path: '/webhooks/0/clientConfig', value: { url } },
    { op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Fail' },
  ]
  const webhook = `validatingwebhookconfiguration/hyperfleet-${controller}-webhook`
  await cluster.kubectl('patch', webhook, '--type=json', `--patch=${JSON.stringify(patch)}`)
  const manager = await startMuster([
    'manager',
    `--controllers=${controller}`,
    `--kubeconfig=${await cluster.kubeconfigFor(`hyperfleet-${controller}`, NAMESPACE)}`,
    `--namespace=${NAMESPACE}`,
    '--metrics-bind-address=0',
    '--health-probe-bind-address=0',
    ...flags,
    `--webhook-bind-address=127.0.0.1:${port}`,
    '--webhook-host=127.0.0.1',
  ])
  await manager.line('caches are filled')
  return manager
}
