import { isDeepStrictEqual } from 'node:util'
import { defaultSecretName } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import { Secret } from '#apis/kubernetes.ts'
import { type Api, createApi } from '#operator/client/api.ts'
import { systemClock } from '#operator/index.ts'
import { Failure } from '../failure.ts'
import { withApiServer } from '../with-api-server.ts'
import type { CertificatesOptions } from './command.ts'
import { adminKubeconfig, type Files, type HostedCluster, nextFiles } from './pki.ts'

/** Fills the Secrets of a hosted cluster. CLUSTER-25. @throws Failure */
export const writeCertificates = async (name: string, { namespace, ...access }: CertificatesOptions): Promise<void> =>
  withApiServer(access, async (transport) => {
    const api = createApi(transport)
    const cluster = { name, namespace }
    const files = await ensureFiles(api, cluster, `${name}-pki`, (before) =>
      nextFiles(before, cluster, systemClock.now().getTime()),
    )
    // Last: what reads it finds an API server that takes it.
    await ensureFiles(api, cluster, defaultSecretName(name), (before) =>
      Promise.resolve({ ...before, kubeconfig: adminKubeconfig(files, cluster) }),
    )
  })

/** @returns what the Secret has now @throws ApiError with 409 when another one wrote it meanwhile: the Job runs again */
const ensureFiles = async (
  api: Api,
  { namespace }: HostedCluster,
  name: string,
  next: (before: Files) => Promise<Files>,
): Promise<Files> => {
  const secret = await api.get(Secret, name, namespace)
  if (secret === undefined) throw new Failure(`there is no Secret ${namespace}/${name}: the provider’s task makes it`)
  const before = Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([file, text]) => [file, Buffer.from(text, 'base64').toString()]),
  )
  const files = await next(before)
  if (isDeepStrictEqual(files, before)) return files
  const { resourceVersion } = secret.metadata
  const body = { metadata: { resourceVersion }, stringData: files }
  await api.patch(Secret, { name, namespace, type: 'merge', body })
  return files
}
