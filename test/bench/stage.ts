/** Where a bench plays: one API server for all contestants of the run, and a load generator beside it. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { startLocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import type { Part } from '#hack/cluster/local/layout.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { pathOf, type Resource } from '#operator/model/resource.ts'
import type { Say } from './definition.ts'
import { Gadget, gadgetCrd } from './gadget.ts'
import { type ApiServer, connect, StatusError } from './load/client.ts'
import { type Load, startLoad } from './load/process.ts'

export interface Stage extends AsyncDisposable {
  /** The admin's kubeconfig file. */
  readonly kubeconfig: string
  readonly server: ApiServer
  /** The folder for logs, removed at the end. */
  readonly folder: string
  /** Creates a CustomResourceDefinition, unless it is there; resolves when its kind is served. */
  install(crd: object, resource: Resource): Promise<void>
  /** A load generator on a namespace of its own. */
  load(): Promise<Load>
}

const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/**
 * Starts a control plane with the Gadget kind.
 * @param parts etcd and kube-apiserver alone by default, so that only contestants ask it anything
 */
export const openStage = async (say: Say, parts: readonly Part[] = ['etcd', 'kube-apiserver']): Promise<Stage> => {
  const binaries = process.env.KUBEBUILDER_ASSETS ?? (await ensureBinaries(CONTROL_PLANE, say))
  const folder = await temporaryFolder('bench')
  const plane = await startLocalControlPlane({ binaries, folder, guarded: true, parts })
  const server = connect(plane.kubeconfig, 4)
  const install = async (crd: object, resource: Resource): Promise<void> => {
    await server.request('POST', CRD_PATH, crd).catch((error: unknown) => {
      if (!(error instanceof StatusError && error.status === 409)) throw error
    })
    await untilServed(server, resource)
  }
  await install(gadgetCrd, Gadget)
  return {
    kubeconfig: plane.kubeconfig,
    server,
    folder,
    install,
    load: async () => {
      const name = `bench-${randomBytes(4).toString('hex')}`
      await server.request('POST', '/api/v1/namespaces', { metadata: { name } })
      return startLoad(plane.kubeconfig, name)
    },
    [Symbol.asyncDispose]: async () => {
      await server.close()
      await plane.stop()
    },
  }
}

/** Unknown, and known but not yet read from etcd. */
const NOT_YET: readonly number[] = [404, 429]

/** A kind is served a moment after its definition is accepted. */
const untilServed = async (server: ApiServer, resource: Resource): Promise<void> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const served = await server.request('GET', pathOf(resource)).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StatusError && NOT_YET.includes(error.status)) return false
        throw error
      },
    )
    if (served) return
    await sleep(100)
  }
  throw new Error(`the API server does not serve ${resource.plural} 10 s after it was given their definition`)
}
