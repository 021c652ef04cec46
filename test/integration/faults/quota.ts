/** Quotas that are used up. */
import { expect } from 'vitest'
import { type Fault, object, type Say } from './fault.ts'
import { type FaultWorld, NAMESPACE, PATIENCE } from './world.ts'

const NAME = 'used-up'

/** Nothing of these can be made in a namespace any more; what is there stays. */
const exhaust = async (
  world: FaultWorld,
  namespace: string,
  resources: readonly string[],
): Promise<AsyncDisposable> => {
  const path = `/api/v1/namespaces/${namespace}/resourcequotas`
  const hard = Object.fromEntries(resources.map((resource) => [`count/${resource}`, '0']))
  await world.cluster.rest('POST', path, { metadata: { name: NAME }, spec: { hard } })
  interface Quota {
    readonly status?: { readonly hard?: object }
  }
  // Only then it counts.
  await expect
    .poll(async () => (await world.cluster.rest<Quota>('GET', `${path}/${NAME}`)).status?.hard, PATIENCE)
    .toBeDefined()
  return {
    async [Symbol.asyncDispose]() {
      await world.cluster.rest('DELETE', `${path}/${NAME}`)
    },
  }
}

/** What adapters report of a cluster. */
export const statusesOf =
  (id: string): Say =>
  async (world) =>
    JSON.stringify(await world.suite.call('GET', `/api/hyperfleet/v1/clusters/${id}/statuses`))

/** In Muster's namespace no revision, Event or Lease can be made, and in that of a cluster nothing that an adapter applies. */
export const quotaExceeded = async (world: FaultWorld): Promise<Fault> => {
  const id = await world.idOf('mine')
  return {
    begin: async () => {
      await using stack = new AsyncDisposableStack()
      const resources = ['controllerrevisions.apps', 'events.events.k8s.io', 'leases.coordination.k8s.io']
      stack.use(await exhaust(world, NAMESPACE, resources))
      stack.use(await exhaust(world, `c-${id}`, ['configmaps']))
      await world.cluster.rest('DELETE', `/api/v1/namespaces/c-${id}/configmaps/cluster`)
      return stack.move()
    },
    meanwhile: {
      sentinel: 'works',
      adapter: { says: /exceeded quota/, where: statusesOf(id) },
      clusterpool: 'works',
      clusterclaim: 'works',
      clusterdeployment: 'works',
      clusterdevice: 'works',
      fleet: {
        says: /RevisionNotStored.*exceeded quota|exceeded quota.*RevisionNotStored/s,
        where: object('fleetdep', '-A'),
      },
    },
  }
}
