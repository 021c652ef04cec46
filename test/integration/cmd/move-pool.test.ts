/** docs/migrate-hive.md, "Move a pool", word for word, from one cluster to another. Hive's part is played by pools of ours, which keep its contract. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type OwnControlPlane, type RequestProxy, startControlPlane } from '#test/harness/index.ts'
import { eventually, type PoolWorld, poolWorld } from '../clusterpool/world.ts'
import { commandsBelow, readPage } from '../docs/page.ts'
import { checkoutIn } from '../docs/shell.ts'

const run = promisify(execFile)
const KUBECTL = binariesFolder(CONTROL_PLANE)
const NAMES = ['north', 'east', 'south']

let plane: OwnControlPlane
let atHive: RequestProxy
let hive: PoolWorld
let muster: PoolWorld
let kubeconfig: string
/** Where commands are typed. */
let checkout: string

beforeAll(async () => {
  plane = await startControlPlane({ parts: ['etcd', 'kube-apiserver', 'kube-controller-manager'] })
  ;[hive, muster] = [await poolWorld(plane), await poolWorld()]
  await Promise.all([hive.start(), muster.start()])
  atHive = await plane.proxy()
  atHive.decide(({ method, path }) =>
    method === 'GET' && path.startsWith('/apis/hive.openshift.io/') && !path.includes('watch=')
      ? { through: withoutOurConditions() }
      : 'pass',
  )
  kubeconfig = await bothContexts()
  checkout = await checkoutIn(join(await temporaryFolder('move'), 'checkout'))
}, 120_000)

afterAll(async () => {
  await muster?.[Symbol.asyncDispose]()
  await hive?.[Symbol.asyncDispose]()
  await atHive?.stop()
  await plane?.stop()
})

/** Hive has no condition Reconciling, by which our pools would be known for ours (GITOPS-56). Another word of its length. */
const withoutOurConditions = (): Transform => {
  const chunks: Buffer[] = []
  return new Transform({
    transform: (chunk, _encoding, done) => {
      chunks.push(chunk)
      done()
    },
    flush: (done) =>
      done(null, Buffer.concat(chunks).toString().replaceAll('"type":"Reconciling"', '"type":"Progressing"')),
  })
}

/** One file with the contexts that the page names. */
const bothContexts = async (): Promise<string> => {
  const folder = await temporaryFolder('move')
  const parts = await Promise.all(
    Object.entries({ hive: atHive, muster: muster.plane }).map(async ([name, plane]) => {
      const file = join(folder, name)
      const { stdout } = await run(
        join(KUBECTL, 'kubectl'),
        ['config', 'view', '--raw', '--flatten', '--minify', '--output=json'],
        {
          env: { KUBECONFIG: plane.kubeconfig },
        },
      )
      const { clusters, users } = JSON.parse(stdout) as Record<'clusters' | 'users', readonly object[]>
      const context = { name, context: { cluster: name, user: name } }
      const own = { clusters: [{ ...clusters[0], name }], users: [{ ...users[0], name }], contexts: [context] }
      await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...own }), { mode: 0o600 })
      return file
    }),
  )
  return parts.join(':')
}

/** Types what the page has, but for the namespaces, which differ here. */
const types = async (commands: string): Promise<void> => {
  const script = Object.entries({ hive, muster }).reduce(
    (text, [name, { namespace }]) =>
      text.replaceAll(`--context=${name} --namespace=pools`, `--context=${name} --namespace=${namespace}`),
    commands,
  )
  const env = { ...process.env, PATH: `${KUBECTL}:${process.env.PATH}`, KUBECONFIG: kubeconfig }
  await run('bash', ['-ec', script], { cwd: checkout, env })
}

/** By whom a name is used: clusters of Hive's and of Muster's that are there, and those that are going. */
const users = async (name: string): Promise<number> => {
  const clusters = [...(await hive.clusters('edge')), ...(await muster.clusters('edge'))]
  return clusters.filter(({ spec }) => spec.clusterPoolRef?.clusterDeploymentCustomization?.name === name).length
}

/** Looks on until its end. */
const observe = () => {
  let most = 0
  let isEnding = false
  const looking = (async () => {
    while (!isEnding) {
      most = Math.max(most, ...(await Promise.all(NAMES.map(users))))
      await setTimeout(50)
    }
  })()
  looking.catch(() => {})
  /** @returns the most clusters that one name was used by at a time @throws what looking failed with */
  const end = async (): Promise<number> => {
    isEnding = true
    await looking
    return most
  }
  return { end }
}

const customizationsOf = async (world: PoolWorld): Promise<readonly string[]> =>
  (
    await Promise.all(
      NAMES.map((name) =>
        world.get.customization(name).then(
          () => name,
          () => '',
        ),
      ),
    )
  ).filter(Boolean)

// Journey 7
// GITOPS-53
test('a pool moves by the commands of the page: no cluster that is claimed is lost, and no name is used twice', async () => {
  const [pool, empty, free, grow, end] = commandsBelow(await readPage('docs/migrate-hive.md'), 'Move a pool')
  if (pool === undefined || empty === undefined || free === undefined || grow === undefined || end === undefined)
    throw new Error('the page has other blocks')
  const observer = observe()

  await hive.customize(NAMES)
  await hive.pool('edge', { size: 2, inventory: NAMES })
  await hive.claim('mine', 'edge')
  const claimed = await eventually(async () => {
    const { spec } = await hive.get.claim('mine')
    expect(spec.namespace).toBeTruthy()
    return spec.namespace
  })
  await eventually(async () => expect(await hive.clusters('edge')).toHaveLength(3))

  await types(pool)
  expect((await muster.get.pool('edge')).spec).toMatchObject({
    size: 0,
    inventory: { ClusterDeploymentCustomizations: NAMES.map((name) => ({ name })) },
  })
  await types(empty)
  await eventually(async () => expect(await hive.clusters('edge')).toHaveLength(1))
  await eventually(async () => expect((await hive.get.pool('edge')).status?.size).toBe(0))
  await types(free)
  expect(await customizationsOf(hive)).toHaveLength(1)
  expect(await customizationsOf(muster)).toHaveLength(2)
  await types(grow)
  await eventually(async () => {
    const clusters = await muster.clusters('edge')
    expect(clusters.filter(({ spec }) => spec.installed)).toHaveLength(2)
  })
  // Said when nothing is free, it moves nothing.
  await types(free)
  expect(await customizationsOf(hive)).toHaveLength(1)
  expect((await hive.get.claim('mine')).spec.namespace).toBe(claimed)

  await hive.plane.kubectl('delete', 'clusterclaim', 'mine', `--namespace=${hive.namespace}`)
  await eventually(async () => expect(await hive.clusters('edge')).toEqual([]))
  await types(free)
  await types(end)
  expect(await customizationsOf(hive)).toEqual([])
  expect((await customizationsOf(muster)).toSorted()).toEqual(NAMES.toSorted())
  expect(await muster.clusters('edge')).toHaveLength(2)
  expect(await observer.end()).toBe(1)
}, 180_000)
