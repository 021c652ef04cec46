/** Where the commands of the pages run; `<!-- world: NAME -->` on top of a page names one. */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { NODE } from '#hack/cluster/local/node.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import { findPostgres } from '#hack/postgres/find.ts'
import { giveTo, serverAccount } from '#hack/postgres/postgres.ts'
import { lastLines, startChild } from '#hack/process/child.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { freePort } from '#hack/process/ports.ts'
import { certificateFor } from '#test/harness/certificates.ts'
import {
  type ControlPlane,
  type MusterProcess,
  startControlPlane,
  startMuster,
  startPostgres,
} from '#test/harness/index.ts'
import { putHive } from '#test/worlds/clusterpool/hive-objects.ts'
import { GO_RECORDS, insertGo, layOut } from '#test/worlds/hyperfleet-api/go-database.ts'
import { REPOSITORY } from './page.ts'
import type { PageEnvironment } from './shell.ts'

export interface World extends PageEnvironment, AsyncDisposable {}

const KUBECTL = binariesFolder(CONTROL_PLANE)

/** Nothing but the checkout, kubectl and nats-server. */
const checkout = async (): Promise<World> => ({
  programs: [KUBECTL],
  printed: {},
  [Symbol.asyncDispose]: () => Promise.resolve(),
})

/** As the first command of docs/hyperfleet-api.md leaves it: the API on its usual port. */
const api = async (): Promise<World> => {
  const nothing = await checkout()
  const process = await startMuster(['api', `--data-dir=${await temporaryFolder('api')}`])
  await process.line((line) => line.msg.includes('serving'))
  return { ...nothing, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() }
}

/** A cluster with Muster's kinds and a node that plays its pods, to which KUBECONFIG points. */
const cluster = async (): Promise<World & { readonly plane: ControlPlane }> => {
  const nothing = await checkout()
  const parts = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'] as const
  const plane = await startControlPlane({ parts })
  await plane.rest('POST', '/api/v1/nodes', NODE)
  return { ...nothing, plane, kubeconfig: plane.kubeconfig, [Symbol.asyncDispose]: () => plane.stop() }
}

/** A checkout whose sources may be changed. */
export const ownSources = async (): Promise<string> => {
  const checkout = await temporaryFolder('sources')
  const entries = (await readdir(REPOSITORY)).filter((entry) => entry !== '.git' && entry !== 'dist')
  for (const entry of entries) {
    const [from, to] = [join(REPOSITORY, entry), join(checkout, entry)]
    await (entry === 'node_modules' ? symlink(from, to) : cp(from, to, { recursive: true }))
  }
  return checkout
}

/** A cluster, and a checkout whose sources may be changed. */
const sources = async (): Promise<World> => ({ ...(await cluster()), checkout: await ownSources() })

/**
 * As docs/gitops.md leaves it: the stage overlay, with the API on PostgreSQL and the webhook of the Sentinels, which has to answer.
 * Its node plays all pods but those; the checkout says where they are here.
 */
const installed = async (): Promise<World> => {
  await using stack = new AsyncDisposableStack()
  const base = stack.use(await cluster())
  const plane = base.plane
  const database = stack.use(await startPostgres())
  const url = `http://127.0.0.1:${await freePort()}`
  const webhook = `127.0.0.1:${await freePort()}`
  const checkout = await ownSources()
  for (const path of globSync('kustomize/**/*.yaml', { cwd: checkout }))
    await rewrite(join(checkout, path), (text) => text.replaceAll(/https?:\/\/hyperfleet-api\.[\w.:-]+/g, url))
  await rewrite(join(checkout, 'kustomize/components/deny-overlap/webhook.yaml'), (text) =>
    text
      .replace(/clientConfig:\n(?: {6}.*\n)+/, `clientConfig: {url: "https://${webhook}/validate/sentinel"}\n`)
      .replace('failurePolicy: Ignore', 'failurePolicy: Fail'),
  )
  await plane.kubectl('apply', '--server-side', '-k', join(checkout, 'kustomize/overlays/stage'))
  const secret = ['secret', 'generic', 'hyperfleet-api-database', `--from-literal=url=${database.url}`]
  await plane.kubectl('create', ...secret, '--namespace=hyperfleet-system')
  stack.use(apiOfReplicas(plane, [`--bind-address=${new URL(url).host}`, `--database-url=${database.url}`, ...QUIET]))
  const manager = [`--kubeconfig=${plane.kubeconfig}`, `--hyperfleet-api-url=${url}`, '--dashboard-bind=', ...QUIET]
  const serving = ['--deny-overlap', `--webhook-bind-address=${webhook}`, '--webhook-host=127.0.0.1']
  const sentinel = ['--controllers=sentinel', '--namespace=hyperfleet-system', ...serving]
  stack.use(await startMuster(['manager', ...sentinel, ...manager]))
  stack.use(await startMuster(['manager', '--controllers=clusterdeployment', '--namespace=', ...manager]))
  await overlapIsRefused(plane, checkout)
  const all = stack.move()
  return { ...base, checkout, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

const rewrite = async (path: string, change: (text: string) => string): Promise<void> =>
  writeFile(path, change(await readFile(path, 'utf8')))

/** The API server learns of the webhook's certificate by a watch of its own. */
const overlapIsRefused = async (plane: ControlPlane, checkout: string): Promise<void> => {
  const another = join(await temporaryFolder('overlap'), 'another.yaml')
  const shard = join(checkout, 'kustomize/shards/us-east/config/sentinelconfig.yaml')
  await writeFile(another, (await readFile(shard, 'utf8')).replace('name: cluster-sentinel-us-east', 'name: another'))
  for (let said = ''; !said.includes('selects the same resources'); ) {
    const dry = ['create', '--dry-run=server', '--namespace=hyperfleet-system', `--filename=${another}`]
    said = await plane.kubectl(...dry).catch(String)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const QUIET = ['--metrics-bind-address=0', '--health-probe-bind-address=0'] as const

/** A real API for as long as its Deployment wants replicas, as a kubelet would have it: each change of that number counts, in order. */
const apiOfReplicas = (plane: ControlPlane, args: readonly string[]): AsyncDisposable => {
  const get = ['get', 'deployment', 'hyperfleet-api', '--namespace=hyperfleet-system', '--watch']
  const replicas = spawn(
    join(KUBECTL, 'kubectl'),
    [`--kubeconfig=${plane.kubeconfig}`, ...get, '--output=jsonpath={.spec.replicas}{"\\n"}'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let api: MusterProcess | undefined
  const follow = async () => {
    for await (const count of createInterface({ input: replicas.stdout })) {
      if (Number(count) > 0) api ??= await startMuster(['api', ...args])
      else {
        await api?.stop()
        api = undefined
      }
    }
    await api?.stop()
  }
  const following = follow()
  return {
    [Symbol.asyncDispose]: async () => {
      replicas.kill()
      await following
    },
  }
}

/** How long `npm run up` may take, in milliseconds. */
const PATIENCE = 300_000

/** `npm run up` in another terminal, and KUBECONFIG as it prints it. */
const up = async (): Promise<World> => {
  const nothing = await checkout()
  const home = await temporaryFolder('up')
  const logFile = join(home, 'up.log')
  const child = await startChild({
    command: process.execPath,
    args: ['hack/run.mjs', 'hack/up/up.ts'],
    cwd: REPOSITORY,
    env: { ...process.env, XDG_STATE_HOME: home, MUSTER_CLUSTER: 'local' },
    logFile,
    guarded: true,
  })
  const said = () => lastLines(logFile, Number.POSITIVE_INFINITY)
  for (const deadline = performance.now() + PATIENCE; !said().includes('Ctrl-C ends'); ) {
    if (child.exit() !== undefined || performance.now() > deadline) {
      await child.stop()
      throw new Error(`npm run up did not come up:\n${said()}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  const find = (pattern: RegExp): string => {
    const found = pattern.exec(said())?.[1]
    if (found === undefined) throw new Error(`npm run up did not print ${pattern}:\n${said()}`)
    return found
  }
  return {
    ...nothing,
    kubeconfig: find(/export KUBECONFIG=(\S+)/),
    printed: {
      'http://127.0.0.1:8082/adapter/runs': find(/'(\S+\/adapter\/runs)\?/),
      'http://127.0.0.1:8083': find(/(http:\S+) {2}fleet/),
      'nats://127.0.0.1:4222': find(/Start NATS: (\S+)/),
      '/tmp/muster-up-1a2b3c4d/mine.kubeconfig': find(/--kubeconfig=(\S+) get namespaces/),
    },
    [Symbol.asyncDispose]: async () => {
      await child.stop(60_000)
    },
  }
}

/** A Go service's database with some records, and an empty one beside it. */
const takeover = async (): Promise<World> => {
  await using stack = new AsyncDisposableStack()
  const { url } = stack.use(await startPostgres())
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const [from, to] = ['hyperfleet', 'muster'].map((name) => Object.assign(new URL(url), { pathname: name }).href)
  for (const name of ['hyperfleet', 'muster']) await admin.query(`create database ${name}`)
  await admin.end()
  const source = await layOut(from as string)
  await insertGo(source, GO_RECORDS)
  await source.end()
  const all = stack.move()
  return {
    ...(await checkout()),
    printed: {
      'postgres://hyperfleet:secret@db.example.com/hyperfleet': from as string,
      'postgres://muster:secret@db.example.com/muster': to as string,
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** A cluster with Hive's kinds and some of its objects. */
const hive = async (): Promise<World> => {
  const nothing = await checkout()
  const plane = await startControlPlane({ crds: false, parts: ['etcd', 'kube-apiserver'] })
  await putHive(plane)
  return { ...nothing, kubeconfig: plane.kubeconfig, [Symbol.asyncDispose]: () => plane.stop() }
}

/** A cluster, and a PostgreSQL beside it that speaks TLS; the checkout has the certificate of its authority. */
const production = async (): Promise<World> => {
  await using stack = new AsyncDisposableStack()
  const base = stack.use(await cluster())
  const folder = await temporaryFolder('certificate')
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')]
  const own = await certificateFor('db.example.com')
  await writeFile(certificate, own.cert)
  await writeFile(key, own.key, { mode: 0o600 })
  // PostgreSQL runs as another user where this is root, and takes no key that others may read.
  for (const path of [folder, certificate, key]) await giveTo(await serverAccount(), path)
  const settings = ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${key}`]
  const database = stack.use(await startPostgres(settings))
  const checkout = await ownSources()
  await writeFile(join(checkout, 'db-ca.crt'), own.cert)
  const { username, password, port } = new URL(database.url)
  const all = stack.move()
  return {
    ...base,
    checkout,
    programs: [...base.programs, findPostgres() ?? ''],
    printed: {
      'postgres:secret@db.example.com': `${username}:${password}@localhost:${port}`,
      '@db.example.com': `@localhost:${port}`,
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** Of pages that test/e2e/argocd runs: a real Argo CD, and a checkout whose origin it reads. */
export const ARGOCD = 'argocd'

export const WORLDS: Readonly<Record<string, () => Promise<World>>> = {
  checkout,
  api,
  cluster,
  sources,
  installed,
  takeover,
  production,
  hive,
  up,
}
