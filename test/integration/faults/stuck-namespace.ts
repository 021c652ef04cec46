/** Namespaces that are asked to go and never end, because a finalizer that is not ours holds something in them. */
import type { Fault } from './fault.ts'
import { statusesOf } from './quota.ts'
import type { FaultWorld } from './world.ts'

/** What keeps a namespace, until it is taken away. */
const holdOpen = async (world: FaultWorld, namespace: string): Promise<AsyncDisposable> => {
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  await world.cluster.rest('POST', path, { metadata: { name: 'held', finalizers: ['example.com/held'] } })
  return {
    async [Symbol.asyncDispose]() {
      await world.cluster.rest('PATCH', `${path}/held`, { metadata: { finalizers: null } })
    },
  }
}

/** A person has deleted what an adapter applied for a cluster that is there: it can't be applied again until the namespace has gone. */
export const stuckNamespace = async (world: FaultWorld): Promise<Fault> => {
  const id = await world.idOf('mine')
  return {
    begin: async () => {
      const held = await holdOpen(world, `c-${id}`)
      await world.cluster.kubectl('delete', 'namespace', `c-${id}`, '--wait=false')
      return held
    },
    meanwhile: {
      sentinel: 'works',
      adapter: { says: /is being terminated/, where: statusesOf(id) },
      clusterpool: 'works',
      clusterclaim: 'works',
      clusterdeployment: 'works',
      clusterdevice: 'works',
      fleet: 'works',
    },
  }
}
