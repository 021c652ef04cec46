/** docs/install-production.md on a kind cluster with Argo CD: what its reader has there already, and its commands. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { checkoutInfo } from '#cmd/build-info.ts'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { binariesFolder } from '#hack/gobuild/set.ts'
import { imageOf } from '#hack/image/build.ts'
import { CHECKOUT } from '#hack/image/dockerfile.ts'
import { TASK_ACCOUNTS, TASK_WORK } from '#hack/muster/managers.ts'
import { findPostgres } from '#hack/postgres/find.ts'
import { ARGO_NAMESPACE } from '#test/harness/argocd.ts'
import type { GitRepository } from '#test/harness/git.ts'
import { type KindNodes, PATIENCE } from '#test/harness/ground/kind/cluster.ts'
import { DATABASE_HOST, DATABASE_NAMESPACE, DATABASE_SECRET } from '#test/harness/ground/kind/pods.ts'
import { MONITORING, monitoringKind } from '#test/harness/monitoring.ts'
import { commandsBelow, readPage } from '#test/integration/docs/page.ts'
import { runPage } from '#test/integration/docs/shell.ts'
import { ownSources } from '#test/integration/docs/worlds.ts'
import { runCommands } from './commands.ts'
import { NODE_SHELL, nodeShell } from './node-shell.ts'
import { NAMESPACE } from './world.ts'

/** As the page writes them: of Muster, which it pushes, and of NATS, which it mirrors. */
const IMAGES = [
  { local: imageOf(checkoutInfo(CHECKOUT)), remote: 'registry.example.com/platform/muster' },
  { local: 'docker.io/library/nats:2.12-alpine', remote: 'registry.example.com/mirror/nats' },
] as const

/** Makes the node know an image by its digest, as if it had been pulled. @returns sha256:… */
const pushed = async (cluster: KindNodes['cluster'], { local, remote }: (typeof IMAGES)[number]): Promise<string> => {
  const { run } = nodeShell(cluster)
  const ctr = ['ctr', '--namespace=k8s.io', 'images']
  const digest = /sha256:[0-9a-f]{64}/.exec(await run(...ctr, 'ls', `name==${local}`))?.[0]
  if (digest === undefined) throw new Error(`The node does not have ${local}`)
  await run(...ctr, 'tag', local, `${remote}@${digest}`)
  return digest
}

/**
 * A port of this machine that leads to the database, by a pod. Each connection has a process of its own: `kubectl port-forward` ends when
 * psql goes on to another database.
 */
const forwardedDatabase = async (kubeconfig: string) => {
  const kubectl = join(binariesFolder(CONTROL_PLANE), 'kubectl')
  const { namespace, name } = NODE_SHELL.metadata
  const args = ['exec', '--stdin', '--quiet', `--namespace=${namespace}`, name, '--', 'nc', DATABASE_HOST, '5432']
  const running = new Set<ChildProcess>()
  const server = createServer((client) => {
    const relay = spawn(kubectl, [`--kubeconfig=${kubeconfig}`, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
    running.add(relay)
    client.pipe(relay.stdin).on('error', () => client.destroy())
    relay.stdout.pipe(client)
    client.on('error', () => relay.kill()).on('close', () => relay.kill())
    relay.on('exit', () => running.delete(relay))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.dispose]: () => {
      server.close()
      for (const relay of running) relay.kill()
    },
  }
}

/**
 * Runs the commands of the page as they stand there, in a checkout.
 * @returns the checkout, whose overlays are to be committed
 */
export const installedByThePage = async (nodes: KindNodes): Promise<string> => {
  const { cluster } = nodes
  await nodes.apply([...MONITORING.map(monitoringKind), NODE_SHELL])
  const page = await readPage('docs/install-production.md')
  const digests = Object.fromEntries(
    await Promise.all(
      IMAGES.map(async (image) => {
        const written = new RegExp(`${image.remote}@(sha256:[0-9a-f]{64})`).exec(page.text)?.[1]
        if (written === undefined) throw new Error(`${page.path} pins no ${image.remote}`)
        return [written, await pushed(cluster, image)] as const
      }),
    ),
  )
  const path = `/api/v1/namespaces/${DATABASE_NAMESPACE}/secrets/${DATABASE_SECRET}`
  const { data } = await cluster.rest<{ readonly data: Readonly<Record<string, string>> }>('GET', path)
  const secret = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString()
  const checkout = await ownSources()
  await writeFile(join(checkout, 'db-ca.crt'), secret('tls.crt'))
  using database = await forwardedDatabase(cluster.kubeconfig)
  const inPods = '/hyperfleet?sslmode=verify-full&sslrootcert=/etc/'
  await runPage(page, {
    kubeconfig: cluster.kubeconfig,
    checkout,
    programs: [binariesFolder(CONTROL_PLANE), findPostgres() ?? ''],
    printed: {
      ...digests,
      'postgres:secret@db.example.com': `muster:${secret('password')}@localhost:${database.port}`,
      [`@db.example.com${inPods}`]: `@${DATABASE_HOST}${inPods}`,
      '@db.example.com': `@localhost:${database.port}`,
    },
  })
  return checkout
}

/**
 * Commits an overlay of a checkout.
 * @param more patches at its end, as YAML @param changed overlays that it stands on, and that the checkout has changed: others stay as
 * they are in Git
 */
export const commitOverlay = async (
  git: GitRepository,
  checkout: string,
  name: string,
  more: string,
  changed: readonly string[] = [],
): Promise<string> => {
  const overlays = 'kustomize/overlays'
  for (const folder of [name, ...changed])
    await cp(join(checkout, overlays, folder), join(git.folder, overlays, folder), { recursive: true })
  const list = join(overlays, name, 'kustomization.yaml')
  return git.commit(`The overlay ${name}`, { [list]: (await readFile(join(git.folder, list), 'utf8')) + more })
}

/** Does what a cloud does: gives addresses to what waits for one. Argo CD calls it Progressing until then. */
export const giveAddresses = async ({ cluster }: Pick<KindNodes, 'cluster'>): Promise<void> => {
  const status = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }
  for (const object of [
    ['ingress', 'hyperfleet-api'],
    ['service', 'nats-devices'],
  ]) {
    const where = `--namespace=${NAMESPACE}`
    await cluster.kubectl('wait', '--for=create', object.join('/'), where, '--timeout=300s')
    await cluster.kubectl(
      'patch',
      ...object,
      where,
      '--subresource=status',
      '--type=merge',
      `--patch=${JSON.stringify(status)}`,
    )
  }
}

/** Does what docs/install.md says, with the cluster taken from Argo CD before it. */
export const takenAway = async (nodes: KindNodes, git: GitRepository, overlay: string): Promise<void> => {
  const { kubectl } = nodes.cluster
  const argo = `--namespace=${ARGO_NAMESPACE}`
  await kubectl('delete', 'secret', 'cluster-here', argo)
  await kubectl('wait', '--for=delete', 'application/muster-here', argo, PATIENCE)
  const commands = commandsBelow(await readPage('docs/install.md'), 'Take it away')
  await runCommands(
    commands.map((block) => block.replaceAll('overlays/stage', `overlays/${overlay}`)),
    nodes,
    git.folder,
  )
  await kubectl(
    'wait',
    '--for=delete',
    ...[NAMESPACE, TASK_ACCOUNTS, TASK_WORK].map((name) => `namespace/${name}`),
    PATIENCE,
  )
}
