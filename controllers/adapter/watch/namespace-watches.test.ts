/** Which version of a kind is watched when the one of before is served no longer, in whatever order that is seen. */
import { expect, test, vi } from 'vitest'
import { ApiError } from '#operator/client/errors.ts'
import type { ApiRequest, StreamRequest, Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { silent } from '#operator/model/log.ts'
import type { Resource } from '#operator/model/resource.ts'
import { NamespaceWatches } from './namespace-watches.ts'

const gadgets = (version: string): Resource => ({
  group: 'example.com',
  version,
  plural: 'gadgets',
  kind: 'Gadget',
  scope: 'Namespaced',
  subresources: [],
})

const notFound = () => new ApiError({ kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' })

test.each(['before', 'after'])(
  'ADAPTER-80: a run that meets the new version %s the watch of the old one has ended has the new one watched',
  async (order) => {
    const served = new Set(['v1beta1', 'v1'])
    const versionOf = (path: string) => path.split('/')[3] ?? ''
    const watched: string[] = []
    const problems: (string | undefined)[] = []
    let end = Promise.withResolvers<void>()
    const transport = {
      server: '',
      async request({ path }: ApiRequest) {
        if (!served.has(versionOf(path))) throw notFound()
        return { metadata: { resourceVersion: '1' }, items: [] }
      },
      async *stream({ path, query, onOpen, signal }: StreamRequest) {
        if (!served.has(versionOf(path))) throw notFound()
        const ended = end.promise
        onOpen?.()
        watched.push(versionOf(path))
        if (query?.sendInitialEvents === true) {
          const annotations = { 'k8s.io/initial-events-end': 'true' }
          yield Buffer.from(
            JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1', annotations } } }),
          )
        }
        await Promise.race([ended, new Promise((resolve) => signal?.addEventListener('abort', resolve))])
      },
      async close() {},
    } as unknown as Transport
    const ending = new AbortController()
    const watches = new NamespaceWatches({
      transport,
      labelSelector: 'a=b',
      onEvent: () => {},
      onWatchProblem: (_, problem) => problems.push(problem),
      clock: systemClock,
      log: silent,
      signal: ending.signal,
    })
    watches.ensureWatched(gadgets('v1beta1'), 'n')
    await vi.waitFor(() => expect(watched).toEqual(['v1beta1']))
    served.delete('v1beta1')
    if (order === 'before') watches.ensureWatched(gadgets('v1'), 'n')
    const { resolve } = end
    end = Promise.withResolvers<void>()
    resolve()
    if (order === 'after') {
      await vi.waitFor(() => expect(problems.at(-1)).toBeDefined(), { timeout: 10_000 })
      watches.ensureWatched(gadgets('v1'), 'n')
    }
    await vi.waitFor(() => expect([watched.at(-1), problems.at(-1)]).toEqual(['v1', undefined]), { timeout: 10_000 })
    ending.abort()
    await watches.stopped()
  },
)
