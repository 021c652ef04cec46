import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, readlinkSync } from 'node:fs'
import { copyFile, mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { privateKindMissing } from '#hack/cluster/kind/private.ts'
import { ensureDebianRoot } from '#hack/debian/root.ts'
import { type PrivateDocker, startPrivateDocker } from '#hack/docker/private.ts'
import { writeImageArchive } from '#hack/image/archive.ts'
import { NODE_PACKAGES } from '#hack/kindnode/node-root.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { machine, processesIn } from './machine.ts'

const run = promisify(execFile)

const missing = privateKindMissing()

/** A shell and the usual programs. */
const IMAGE = 'docker.io/muster/shell:test'

const startContainer = async ({ host }: PrivateDocker): Promise<void> => {
  const folder = await temporaryFolder('image')
  await mkdir(join(folder, 'root/bin'), { recursive: true })
  const busybox = join(await ensureDebianRoot(NODE_PACKAGES, console.error), 'bin/busybox')
  for (const name of ['sh', 'ping']) await copyFile(busybox, join(folder, 'root/bin', name))
  const archive = join(folder, 'image.tar')
  await writeImageArchive(archive, { folder: join(folder, 'root'), tags: [IMAGE] })
  const docker = (...args: readonly string[]) => run('docker', [`--host=${host}`, ...args])
  await docker('load', `--input=${archive}`)
  await docker('run', '--detach', '--name=shell', '--publish=80', IMAGE, 'sh', '-c', 'while :; do :; done')
}

/** What is left of an engine. */
const leftovers = ({ cgroup, host }: Pick<PrivateDocker, 'cgroup' | 'host'>, namespace: string) => ({
  processes: processesIn(namespace),
  controlGroups: globSync([`/sys/fs/cgroup/${cgroup}`, `/sys/fs/cgroup/*/${cgroup}`]),
  socket: existsSync(host.slice('unix://'.length)),
})

/** The weight of an engine's processes beside those of one other process, of version 1 and of version 2. */
const shareOf = ({ cgroup }: PrivateDocker): string | undefined =>
  [`/sys/fs/cgroup/cpu/${cgroup}/cpu.shares`, `/sys/fs/cgroup/${cgroup}/cpu.weight`]
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8').trim())[0]

const NOTHING = { processes: [], controlGroups: [], socket: false }

/** A test that wants to be killed: it says what it has started and waits. */
const PROGRAM = `
import { startPrivateKind } from ${JSON.stringify(join(import.meta.dirname, '../../../hack/cluster/kind/private.ts'))}
const { docker: { host, cgroup, pid } } = await startPrivateKind({ say: console.error })
console.log(JSON.stringify({ host, cgroup, pid }))
setInterval(() => undefined, 1000)
`

describe('a Docker engine of its own', () => {
  test('in CI it is there', ({ skip }) => {
    if (process.env.CI !== 'true') skip('this is not CI')
    expect(missing).toBeUndefined()
  })

  test('has a loopback and no way out, and leaves the machine as it was when it is stopped', async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    const before = await machine()
    const docker = await startPrivateDocker()
    const namespace = readlinkSync(`/proc/${docker.pid}/ns/pid`)
    await startContainer(docker)
    // Eight times a process's, so that a whole cluster does not wait for tests that run beside it.
    expect(shareOf(docker)).toMatch(/^8(192|00)$/)

    const [command = '', ...args] = docker.inNetwork
    const inNetwork = async (...program: readonly string[]) => (await run(command, [...args, ...program])).stdout
    expect(await inNetwork('ip', 'route', 'show', 'default')).toBe('')
    // The other end of a container's link is in the container.
    const links = (await inNetwork('ip', '-oneline', 'link')).matchAll(/^\d+: (docker|lo|veth)?/gm)
    expect(new Set([...links].map(([, name]) => name))).toEqual(new Set(['docker', 'lo', 'veth']))
    await using ours = createServer().listen(0, '0.0.0.0')
    await once(ours, 'listening')
    const { port } = ours.address() as { port: number }
    const addresses = Object.values(networkInterfaces()).flatMap((all = []) => all)
    for (const { address } of addresses.filter(({ family, internal }) => family === 'IPv4' && !internal))
      await expect(inNetwork('bash', '-c', `exec 3<>/dev/tcp/${address}/${port}`)).rejects.toThrow(
        'Network is unreachable',
      )
    // An address for documentation.
    const ping = run('docker', [`--host=${docker.host}`, 'exec', 'shell', 'ping', '-c', '1', '-W', '2', '203.0.113.1'])
    await expect(ping).rejects.toMatchObject({ stdout: expect.stringContaining('100% packet loss') })

    await docker[Symbol.asyncDispose]()
    expect(leftovers(docker, namespace)).toEqual(NOTHING)
    expect(await machine()).toEqual(before)
  })

  test('leaves the machine as it was when the process that started it, with a kind cluster, is killed', {
    timeout: 900_000,
  }, async ({ skip }) => {
    if (missing !== undefined) skip(missing)
    const before = await machine()
    const program = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(createInterface({ input: program.stdout }), 'line')
    const docker = JSON.parse(line) as Pick<PrivateDocker, 'host' | 'cgroup' | 'pid'>
    const namespace = readlinkSync(`/proc/${docker.pid}/ns/pid`)
    expect(processesIn(namespace).length).toBeGreaterThan(3)

    program.kill('SIGKILL')

    await expect.poll(() => leftovers(docker, namespace), { timeout: 60_000 }).toEqual(NOTHING)
    await expect
      .poll(() => existsSync(join(docker.host.slice('unix://'.length), '..')), { timeout: 60_000 })
      .toBe(false)
    expect(await machine()).toEqual(before)
  })
})
