/** `npm run up` on a machine with Docker: in the network of an engine of its own, as it would be beside the machine's. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OFFICIAL_IMAGE } from '#hack/cluster/kind/plan.ts'
import { privateKindMissing } from '#hack/cluster/kind/private.ts'
import { startKind } from '#hack/cluster/kind/provider.ts'
import { ensureDebianRoot } from '#hack/debian/root.ts'
import { type PrivateDocker, startPrivateDocker } from '#hack/docker/private.ts'
import { writeImageArchive } from '#hack/image/archive.ts'
import { NODE_PACKAGES } from '#hack/kindnode/node-root.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { type ProcessGroup, startProcessGroup } from '#test/harness/process-group.ts'

const TIMEOUT = 900_000

const run = promisify(execFile)

const missing = privateKindMissing()

const up = async ({ host, inNetwork }: PrivateDocker): Promise<ProcessGroup> => {
  const [command, ...args] = [...inNetwork, 'node', 'hack/run.mjs', 'hack/up/up.ts', '--once']
  const home = await temporaryFolder('e2e')
  return startProcessGroup(command, args, { XDG_STATE_HOME: home, MUSTER_CLUSTER: 'kind', DOCKER_HOST: host })
}

describe.skipIf(missing !== undefined)(`with Docker${missing === undefined ? '' : ` (${missing})`}`, () => {
  let docker: PrivateDocker

  beforeAll(async () => {
    docker = await startPrivateDocker()
    process.env.DOCKER_HOST = docker.host
  })
  afterAll(() => docker[Symbol.asyncDispose]())

  const engine = async (...args: readonly string[]): Promise<string> =>
    (await run('docker', [`--host=${docker.host}`, ...args])).stdout.trim()

  const containers = () => engine('ps', '--all', '--quiet')

  test('npm run up -- --once makes a node where none can be pulled, brings everything up on kind, sees every sample Ready, and takes everything down', {
    timeout: TIMEOUT,
  }, async () => {
    const { exited, output } = await up(docker)
    expect(await exited, output()).toBe(0)
    expect(output()).toContain('Cluster: kind in Docker, as MUSTER_CLUSTER says')
    expect(output()).toContain(`${OFFICIAL_IMAGE} can't be pulled`)
    expect(output()).toContain('✓ Watch the adapters until every sample is Ready')
    expect(output()).toContain('✓ Claim a cluster of lab and take its kubeconfig')
    expect(output()).toContain('✓ See that no process')
    expect(output()).toContain('✓ Roll greeter out to the devices in two batches')
    expect(output()).toContain('✓ Stopping the cluster')
    expect(output()).not.toContain('✗')
    expect(await containers()).toBe('')
    expect(await engine('volume', 'ls', '--quiet')).toBe('')
  })

  test('killed in the middle, it leaves no container and no volume', { timeout: TIMEOUT }, async () => {
    const { exited, output, interrupt } = await up(docker)
    while (!output().includes('Starting Kubernetes')) await delay(100)
    const [node = ''] = (await containers()).split('\n')
    // What is published on all addresses, others on the network could use.
    expect(await engine('port', node)).toMatch(/^6443\/tcp -> 127\.0\.0\.1:\d+$/)
    interrupt('SIGKILL')
    await exited
    await expect.poll(containers, { timeout: 30_000 }).toBe('')
    expect(await engine('volume', 'ls', '--quiet')).toBe('')
  })

  test('a node that ends during its start says why, and is removed', async () => {
    const folder = await temporaryFolder('image')
    await mkdir(join(folder, 'root/bin'), { recursive: true })
    const busybox = join(await ensureDebianRoot(NODE_PACKAGES, console.error), 'bin/busybox')
    await copyFile(busybox, join(folder, 'root/bin/sh'))
    const archive = join(folder, 'node.tar')
    // An image of that name is taken as it is.
    await writeImageArchive(archive, {
      folder: join(folder, 'root'),
      tags: [`docker.io/${OFFICIAL_IMAGE}`],
      entrypoint: ['/bin/sh', '-c', 'echo "no alternatives for iptables"; exit 2'],
    })
    await engine('load', `--input=${archive}`)
    await expect(startKind({ say: () => undefined })).rejects.toThrow(
      'The node did not start. Its log ends with:\nno alternatives for iptables',
    )
    expect(await containers()).toBe('')
    await engine('rmi', OFFICIAL_IMAGE)
  })
})
