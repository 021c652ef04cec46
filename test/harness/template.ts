/**
 * What etcd holds of a control plane that has our CRDs and nothing else, kept in the cache folder: one that begins with a copy is spared
 * the installation of the CRDs and the first roles, which cost more than the start of its processes.
 */
import { createHash } from 'node:crypto'
import { cp, glob, mkdir, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { cacheFolder } from '#hack/cache/folder.ts'
import { makeOnce } from '#hack/cache/make-once.ts'
import { startLocalControlPlane } from '#hack/cluster/local/controlplane.ts'
import { type Layout, layoutOf } from '#hack/cluster/local/layout.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { cacheKey } from '#hack/gobuild/set.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type Connection, connectionOf, rest } from './connection.ts'
import { CRDS, installCrds } from './crds.ts'

/**
 * What stays of the first control plane. All else is each one's own, made when it starts: namespaces above all, since the uid of
 * kube-system is what tells one cluster from another.
 */
const KEPT = [
  '/registry/apiextensions.k8s.io/customresourcedefinitions/',
  '/registry/apiregistration.k8s.io/apiservices/',
  '/registry/clusterroles/',
  '/registry/clusterrolebindings/',
  '/registry/flowschemas/',
  '/registry/prioritylevelconfigurations/',
  '/registry/priorityclasses/',
]

/** Puts a copy into the folder of a control plane that has not started yet. */
export const beginWithCrds = async (folder: string, binaries: string): Promise<void> => {
  const { data } = layoutOf(folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await cp(layoutOf(await template(binaries)).data, data, { recursive: true })
}

/** Waits until an API server that began with it serves every kind, as one that has just got the CRDs says of itself by a condition. */
export const servesCrds = async (connection: Connection): Promise<void> => {
  const call = rest(connection)
  for await (const name of glob('*.yaml', { cwd: CRDS })) {
    const [group, plural] = basename(name, '.yaml').split('_')
    const isServed = async (): Promise<boolean> => {
      const { preferredVersion } = await call<Group>('GET', `/apis/${group}`)
      const { resources } = await call<Resources>('GET', `/apis/${preferredVersion.groupVersion}`)
      return resources.some((resource) => resource.name === plural)
    }
    for (const deadline = performance.now() + SERVED_WITHIN; !(await isServed().catch(() => false)); await delay(20))
      if (performance.now() > deadline) throw new Error(`${connection.server} does not serve ${plural}.${group}`)
  }
}

const SERVED_WITHIN = 60_000

interface Group {
  readonly preferredVersion: { readonly groupVersion: string }
}

interface Resources {
  readonly resources: readonly { readonly name: string }[]
}

const template = async (binaries: string): Promise<string> => {
  const folder = join(cacheFolder(), 'template', await nameOf())
  return makeOnce(
    { folder, title: 'a control plane with our CRDs', kept: 3, make: (draft) => make(draft, binaries) },
    console.error,
  )
}

/** The same for the same programs, CRDs, and this file. */
const nameOf = async (): Promise<string> => {
  const hash = createHash('sha256').update(cacheKey(CONTROL_PLANE))
  const crds = (await Array.fromAsync(glob('*.yaml', { cwd: CRDS }))).toSorted()
  for (const path of [...crds.map((name) => join(CRDS, name)), import.meta.filename]) hash.update(await readFile(path))
  return hash.digest('hex').slice(0, 12)
}

const make = async (draft: string, binaries: string): Promise<void> => {
  const folder = await temporaryFolder('template')
  const local = await startLocalControlPlane({ binaries, folder, guarded: true, parts: ['etcd', 'kube-apiserver'] })
  try {
    await installCrds(await connectionOf(local, binaries))
    await local.kill('kube-apiserver')
    await forget(local.layout)
  } finally {
    await local.stop()
  }
  await cp(local.layout.data, layoutOf(draft).data, { recursive: true })
  await rm(folder, { recursive: true })
}

/** Deletes what is not kept. */
const forget = async (layout: Layout): Promise<void> => {
  const { kvs = [] } = await ask(layout, 'range', { key: encode('\0'), range_end: encode('\0'), keys_only: true })
  for (const { key } of kvs) {
    const name = Buffer.from(key, 'base64').toString()
    if (!KEPT.some((prefix) => name.startsWith(prefix))) await ask(layout, 'deleterange', { key })
  }
}

const encode = (key: string): string => Buffer.from(key).toString('base64')

/** Of etcd's JSON gateway. */
interface Range {
  readonly kvs?: readonly { readonly key: string }[]
}

/** @throws Error when etcd refuses */
const ask = async (layout: Layout, what: 'range' | 'deleterange', body: object): Promise<Range> => {
  const socketPath = join(dirname(layout.data), 'etcd.sock')
  const { promise, resolve, reject } = Promise.withResolvers<Range>()
  const call = request({ socketPath, method: 'POST', path: `/v3/kv/${what}` }, (response) => {
    text(response).then((said) => {
      if (response.statusCode === 200) resolve(JSON.parse(said))
      else reject(new Error(`etcd answers ${response.statusCode} to ${what}: ${said}`))
    }, reject)
  })
  call.on('error', reject)
  call.end(JSON.stringify(body))
  return promise
}
