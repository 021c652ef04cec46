/** The observer's own watches, straight to the API server: they go on by themselves, whatever becomes of it. */
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { readKubeconfig } from '#hack/cluster/kubeconfig.ts'
import type { KubeSight } from './sights.ts'

/** How long to wait after something broke, in milliseconds. */
const PAUSE = 200

/** What there is of one kind, by uid, always as the last event left it. */
export interface KindWatch {
  objects(): readonly KubeSight[]
}

export interface Watches extends AsyncDisposable {
  /** Watches a kind; resolves when everything that is there has been seen. @param onChange after each change of it */
  kind(kind: string, path: string, onChange?: () => void): Promise<KindWatch>
}

interface Listed {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly KubeSight[]
}

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: KubeSight
}

/** @param kubeconfig of the API server itself, with a token */
export const kubernetesWatches = async (kubeconfig: string): Promise<Watches> => {
  const { clusters, users } = await readKubeconfig(kubeconfig)
  const { server, 'certificate-authority-data': authority = '' } = clusters[0]?.cluster ?? { server: '' }
  const headers = { authorization: `Bearer ${String(users[0]?.user.token)}` }
  // No limit on silence: a watch may be quiet.
  const dispatcher = new Agent({ connect: { ca: Buffer.from(authority, 'base64') }, bodyTimeout: 0 })
  const ending = new AbortController()
  const running: Promise<void>[] = []

  const get = async (path: string) => {
    const response = await request(server + path, { dispatcher, headers, signal: ending.signal })
    if (response.statusCode === 200) return response.body
    throw new Error(`${path}: ${response.statusCode} ${await response.body.text()}`)
  }

  const follow = async (kind: string, path: string, objects: Map<string, KubeSight>, onChange: () => void) => {
    const { items, metadata } = (await (await get(path)).json()) as Listed
    objects.clear()
    // Items of a list don't say their kind.
    for (const item of items) objects.set(item.metadata.uid, { ...item, kind })
    onChange()
    const body = await get(`${path}?watch=true&resourceVersion=${metadata.resourceVersion}`)
    for await (const line of createInterface({ input: body })) {
      const { type, object } = JSON.parse(line) as WatchEvent
      if (type === 'ERROR') return
      if (type === 'DELETED') objects.delete(object.metadata.uid)
      else if (type !== 'BOOKMARK') objects.set(object.metadata.uid, object)
      onChange()
    }
  }

  return {
    kind: async (kind, path, onChange = () => undefined) => {
      const objects = new Map<string, KubeSight>()
      const { promise: listed, resolve } = Promise.withResolvers<void>()
      const live = async () => {
        while (!ending.signal.aborted) {
          await follow(kind, path, objects, () => {
            resolve()
            onChange()
          }).catch(() => undefined)
          await delay(PAUSE)
        }
      }
      running.push(live())
      await listed
      return { objects: () => [...objects.values()] }
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await dispatcher.destroy()
      await Promise.all(running)
    },
  }
}
