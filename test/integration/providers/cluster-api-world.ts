/** What the test of the provider `cluster-api` stands on: Cluster API's managers beside Muster's. */
import { type ClusterApi, startClusterApi } from '#test/harness/cluster-api.ts'
import { startControlPlane } from '#test/harness/index.ts'
import { type WholeWorld, wholeWorld } from './whole-world.ts'

export interface ClusterApiWorld extends WholeWorld {
  readonly clusterApi: ClusterApi
}

export const clusterApiWorld = async (): Promise<ClusterApiWorld> => {
  await using stack = new AsyncDisposableStack()
  const plane = stack.use(await startControlPlane())
  const clusterApi = stack.use(await startClusterApi(plane))
  const world = stack.use(await wholeWorld({ plane, adapter: 'cluster-api', accountsApart: true, backoffReady: '5s' }))
  await world.startManagers()
  const own = stack.move()
  return { ...world, clusterApi, [Symbol.asyncDispose]: () => own.disposeAsync() }
}
