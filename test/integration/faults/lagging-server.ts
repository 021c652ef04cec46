/** Two API servers behind one address, of which one hears of changes late. */
import { expect } from 'vitest'
import { type LateApiServer, startLateApiServer } from '#test/harness/late-apiserver.ts'
import { ALL_WORK, type Fault } from './fault.ts'
import { type FaultWorld, NAMESPACE } from './world.ts'

/**
 * Watches, and with them lists from the server's cache, are further behind than the runtime waits for its own write to come back
 * (RUNTIME-22), so that it decides by what is past. What a GET tells is a second old when it arrives.
 */
const DELAYS = { watches: 8_000, reads: 1_000 }

interface Names {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

/** A server that does not lag would prove nothing: what is written is in the lists of one, and not yet in those of the other. */
const expectLag = async ({ cluster }: FaultWorld, late: LateApiServer): Promise<void> => {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
  const names = async ({ rest }: Pick<LateApiServer, 'rest'>, query: string) =>
    (await rest<Names>('GET', `${path}${query}`)).items.map(({ metadata }) => metadata.name)
  await cluster.rest('POST', path, { metadata: { name: 'lag' } })
  expect(await names(late, '?resourceVersion=0')).not.toContain('lag')
  expect(await names(cluster, '')).toContain('lag')
  await cluster.rest('DELETE', `${path}/lag`)
}

/** Every watch comes from it, and every other of all the rest: what is read here may not be there yet when it is read again. */
export const laggingServer: Fault = {
  begin: async (world) => {
    const { proxy } = world.suite
    await using stack = new AsyncDisposableStack()
    const late = stack.use(await startLateApiServer(world.cluster, DELAYS))
    await expectLag(world, late)
    const { server } = world.cluster
    proxy.route(({ path, number }) => (/[?&]watch=/.test(path) || number % 2 === 0 ? late.server : server))
    stack.defer(() => {
      proxy.route(() => server)
      proxy.cut()
    })
    proxy.cut()
    return stack.move()
  },
  meanwhile: ALL_WORK,
}
