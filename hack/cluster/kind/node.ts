import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { machine as machineName, type } from 'node:os'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AbstractStartedContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { LocalContainer } from '../../docker/local-container.ts'
import { ProcessError } from '../../process/errors.ts'
import { goSettings } from '../../process/go-settings.ts'
import type { Kubectl } from '../kubectl.ts'
import { lastWords, removeContainer } from './ended.ts'
import { loadCommand } from './images.ts'
import {
  ADMIN_CONFIG,
  API_SERVER_PORT,
  BOOTED,
  COLLECT_PROGRAMS,
  KEEP_SETTINGS,
  PROGRAMS_FOLDER,
  SERVICES_CONFIG,
  type Step,
  servicesConfig,
} from './plan.ts'
import { removeWhenWeEnd } from './watch.ts'

/** The machine's kernel modules, for kube-proxy. */
const MODULES = '/lib/modules'

/** How much of a node's log is kept for the message, should it end. */
const KEPT_LINES = 15

/**
 * A kind node as a testcontainer: a machine for Kubernetes, with its own container runtime, in one privileged container.
 * It is removed when we end, however we end.
 */
export class KindNode extends LocalContainer {
  #log: string[] = []
  #id: string | undefined
  #forget: () => void = () => undefined

  /** @param readable folders of this machine that the node's kubectl may read, at the same path */
  constructor(image: string, name: string, readable: readonly string[]) {
    super(image)
    this.withPrivilegedMode()
      .withHostname(name)
      .withSecurityOpt('seccomp=unconfined', 'apparmor=unconfined')
      // systemd wants its own /run and /tmp.
      .withTmpFs({ '/run': 'rw,exec', '/tmp': 'rw,exec' })
      // Docker would make a folder that is not there on the machine.
      .withBindMounts(
        [MODULES, ...readable].filter(existsSync).map((path) => ({ source: path, target: path, mode: 'ro' })),
      )
      .withExposedPorts(API_SERVER_PORT)
      .withWaitStrategy(Wait.forSuccessfulCommand(BOOTED))
      .withStartupTimeout(180_000)
      // Its reaper is one more image, which can't be pulled everywhere.
      .withAutoCleanup(false)
      .withLogConsumer((log) => {
        log.setEncoding('utf8').on('data', (text: string) => {
          this.#log = [...this.#log, ...text.trimEnd().split('\n')].slice(-KEPT_LINES)
        })
      })
    const env = goSettings()
    if (Object.keys(env).length > 0)
      this.withEnvironment(env).withCopyContentToContainer([{ content: servicesConfig(env), target: SERVICES_CONFIG }])
    // containerd can't put an overlay on the container's overlay. A volume begins with what the image has there: the cluster's images.
    Object.assign(this.createOpts, { Volumes: { '/var': {} } })
    // The entrypoint arranges cgroups for systemd, which must not be the machine's own.
    Object.assign(this.hostConfig, { CgroupnsMode: 'private' })
  }

  protected override containerCreated(id: string): Promise<void> {
    this.#id = id
    this.#forget = removeWhenWeEnd(id)
    return Promise.resolve()
  }

  override async start(): Promise<StartedKindNode> {
    const node = new StartedKindNode(await this.#boot(), this.#forget)
    try {
      await node.run(KEEP_SETTINGS)
      return node
    } catch (error) {
      await node.stop()
      throw error
    }
  }

  /** @throws ProcessError with the node's last words: the engine itself tells only that a container isn't running */
  async #boot(): Promise<StartedTestContainer> {
    try {
      return await super.start()
    } catch (cause) {
      // One that ends at once is not listened to yet, and one that was too slow has been removed already.
      const log = this.#id === undefined ? [] : ((await lastWords(this.#id)) ?? this.#log)
      if (this.#id !== undefined) await removeContainer(this.#id)
      this.#forget()
      if (log.length === 0) throw cause
      throw new ProcessError(`The node did not start. Its log ends with:\n${log.slice(-KEPT_LINES).join('\n')}`, {
        cause,
      })
    }
  }
}

export class StartedKindNode extends AbstractStartedContainer {
  readonly #forget: () => void
  #inputs = 0

  /** @param forget is called when it has been removed */
  constructor(node: StartedTestContainer, forget: () => void) {
    super(node)
    this.#forget = forget
  }

  protected override containerStopped(): Promise<void> {
    this.#forget()
    return Promise.resolve()
  }

  /** Runs a command in it. @returns what it printed @throws ProcessError */
  async run({ title, command }: Step): Promise<string> {
    const { exitCode, output, stdout } = await this.exec([...command])
    if (exitCode === 0) return stdout
    const last = output.trim().split('\n').slice(-KEPT_LINES).join('\n')
    throw new ProcessError(`${title} failed (exit ${exitCode}): ${last}`)
  }

  /** Makes the images of an archive (`docker save`) known to the node, so that pods need no registry for them. */
  async load(archive: string): Promise<void> {
    const target = `/kind/${basename(archive)}`
    await this.copyFilesToContainer([{ source: archive, target }])
    await this.run({ title: 'Loading an image', command: loadCommand(target) })
    await this.exec(['rm', target])
  }

  /**
   * Copies the programs of its control plane into a folder that is not there yet.
   * @returns whether they run on this machine: Docker may be on another one, or in a virtual one
   */
  async copyPrograms(folder: string): Promise<boolean> {
    const machine = (await this.run(COLLECT_PROGRAMS)).trim()
    if (machine !== `${type()} ${machineName()}`) return false
    await mkdir(folder, { recursive: true })
    const unpacking = spawn('tar', ['--extract', '--strip-components=1', `--directory=${folder}`], {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    const ended = once(unpacking, 'close')
    await pipeline(await this.copyArchiveFromContainer(PROGRAMS_FOLDER), unpacking.stdin)
    const [code] = await ended
    if (code !== 0) throw new ProcessError(`tar could not unpack the programs of the node (exit ${code})`)
    return true
  }

  /** The node's own kubectl, for machines that have none. Files it is told to read must be in the container. */
  readonly kubectl: Kubectl = async (args, { input } = {}) => {
    let command = ['kubectl', `--kubeconfig=${ADMIN_CONFIG}`, ...args]
    if (input !== undefined) {
      const target = `/kind/muster-input-${this.#inputs++}`
      await this.copyContentToContainer([{ content: input, target }])
      command = command.map((arg) => (arg === '-' ? target : arg))
    }
    const { exitCode, output } = await this.exec(command)
    if (exitCode !== 0) throw new ProcessError(`kubectl ${args.join(' ')}: ${output.trim()}`)
    return output
  }
}
