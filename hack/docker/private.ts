/**
 * A Docker engine for tests, which changes nothing on the machine:
 *
 *   we ─► setpriv (dies with us) ─► unshare (kills its child when it dies) ─► private.sh (process 1) ─► dockerd ─► containers
 *
 * Processes, mounts and network are in namespaces that end with process 1. What namespaces don't hold, control groups and the
 * folder with its data, is removed by `stop`, or by the reaper.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { get } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../cluster/programs.ts'
import { type Child, startChild, untilReady } from '../process/child.ts'
import { temporaryFolder } from '../process/folder.ts'
import { guardCgroup } from '../process/reaper.ts'
import { dockerMissing } from './missing.ts'

const run = promisify(execFile)

export interface PrivateDocker extends AsyncDisposable {
  /** For DOCKER_HOST: unix:///… It is reached from everywhere on this machine. */
  readonly host: string
  /** Put before a command, it runs in the engine's network: containers' published ports are there, and nothing else. */
  readonly inNetwork: readonly string[]
  /** Process 1 of its namespaces, by its number on this machine. */
  readonly pid: number
  /** The name, from the root of every hierarchy, of the control group that containers are in. */
  readonly cgroup: string
  /** Makes a TCP port of the engine's loopback one of ours. @returns our port, of 127.0.0.1 */
  forward(port: number): Promise<number>
}

const SCRIPTS = import.meta.dirname

const ENDS_WITH_US = ['--pdeathsig', 'KILL']

const NAMESPACES = ['unshare', '--net', '--pid', '--mount', '--mount-proc', '--ipc', '--fork', '--kill-child']

/** Starts one. @throws Error when this machine can't have it, ProcessError when it doesn't start */
export const startPrivateDocker = async (): Promise<PrivateDocker> => {
  const reason = dockerMissing()
  if (reason !== undefined) throw new Error(reason)
  await using stack = new AsyncDisposableStack()
  const folder = await temporaryFolder('docker')
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const cgroup = `muster-docker-${randomBytes(6).toString('hex')}`
  guardCgroup(cgroup)
  stack.defer(async () => void (await run('sh', [join(SCRIPTS, '../process/remove-cgroup.sh'), cgroup])))
  const engine = await startChild({
    name: 'dockerd',
    command: 'setpriv',
    args: [...ENDS_WITH_US, ...NAMESPACES, join(SCRIPTS, 'private.sh'), folder, `/${cgroup}`, await runtime()],
    logFile: join(folder, 'dockerd.log'),
    guarded: true,
  })
  stack.defer(async () => void (await engine.kill()))
  const socket = join(folder, 'docker.sock')
  await untilReady(engine, () => answers(socket))
  const pid = await firstChild(engine)
  const inNetwork = ['nsenter', `--target=${pid}`, '--net', '--']
  const own = stack.move()
  return {
    host: `unix://${socket}`,
    inNetwork,
    pid,
    cgroup,
    forward: async (port) => {
      const relay = join(folder, `${port}.sock`)
      await startRelay(own, inNetwork, relay, port, join(folder, `relay-${port}.log`))
      const server = createServer({ allowHalfOpen: true }, (incoming) => {
        const outgoing = connect({ path: relay, allowHalfOpen: true })
        incoming.pipe(outgoing).pipe(incoming)
        incoming.on('error', () => outgoing.destroy())
        outgoing.on('error', () => incoming.destroy())
      }).listen(0, '127.0.0.1')
      server.unref()
      await once(server, 'listening')
      own.defer(() => void server.close())
      return (server.address() as AddressInfo).port
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

const startRelay = async (
  stack: AsyncDisposableStack,
  [command = '', ...args]: readonly string[],
  socket: string,
  port: number,
  logFile: string,
): Promise<void> => {
  const program = [process.execPath, join(SCRIPTS, 'relay.ts'), socket, String(port)]
  const relay = await startChild({ name: 'the relay', command, args: [...args, ...program], logFile, guarded: true })
  stack.defer(async () => void (await relay.kill()))
  await untilReady(relay, () => Promise.resolve(existsSync(socket)))
}

const PING_TIMEOUT_MS = 5_000

/** Whether an engine answers at a socket: it listens before it can do anything. */
const answers = (socketPath: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get({ socketPath, path: '/_ping', timeout: PING_TIMEOUT_MS }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request
      .on('timeout', () => request.destroy())
      .on('error', () => resolve(false))
      .on('close', () => resolve(false))
  })

const CAP_SYS_RESOURCE = 24n

/** What starts containers: runc, or where no process can have CAP_SYS_RESOURCE a runc that doesn't ask for it. */
const runtime = async (): Promise<string> => {
  const [, bounding = '0'] = /^CapBnd:\s*(\w+)$/m.exec(await readFile('/proc/self/status', 'utf8')) ?? []
  const has = (BigInt(`0x${bounding}`) >> CAP_SYS_RESOURCE) & 1n
  return has === 1n ? (onPath('runc') as string) : join(SCRIPTS, 'runtime.sh')
}

const firstChild = async ({ pid }: Child): Promise<number> =>
  Number.parseInt(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10)
