import { basename } from 'node:path'
import { load } from 'js-yaml'
import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import type { KubeconfigFile } from '../kubeconfig.ts'
import { type Kubectl, KubectlError } from '../kubectl.ts'
import { loadCommand } from './images.ts'
import { ADMIN_CONFIG, API_SERVER_PORT, BOOTED, KUBEADM_CONFIG, kubeadmConfig, SETUP, VERSION_FILE } from './plan.ts'
import { type Reach, reachedAt } from './reach.ts'
import { removeContainer } from './remove.ts'
import { removeWhenWeEnd } from './watch.ts'

/** The cluster came so far and no further: the message has the step and the last words of its command. */
export class KindError extends Error {
  override readonly name = 'KindError'
}

/** How much of a node's log is kept for the message, should it end. */
const KEPT_LINES = 15

/**
 * A kind node as a testcontainer: Kubernetes, with its own container runtime, in one privileged container.
 * It is removed when we end, however we end.
 */
export class KindContainer extends GenericContainer {
  #say: (line: string) => void = () => undefined
  #reach: Reach = (host, port) => Promise.resolve({ host, port })
  #log: string[] = []
  #id: string | undefined

  /** @param readable folders of this machine that the node's kubectl may read, at the same path */
  constructor(image: string, readable: readonly string[] = []) {
    super(image)
    this.withPrivilegedMode()
      .withHostname('muster-control-plane')
      .withSecurityOpt('seccomp=unconfined', 'apparmor=unconfined')
      // systemd wants its own /run and /tmp.
      .withTmpFs({ '/run': 'rw,exec', '/tmp': 'rw,exec' })
      .withBindMounts(['/lib/modules', ...readable].map((path) => ({ source: path, target: path, mode: 'ro' })))
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
    // containerd can't put an overlay on the container's overlay. A volume begins with what the image has there: the cluster's images.
    Object.assign(this.createOpts, { Volumes: { '/var': {} } })
    // The entrypoint arranges cgroups for systemd, which must not be the machine's own.
    Object.assign(this.hostConfig, { CgroupnsMode: 'private' })
  }

  /** Where the lines of progress go. */
  withProgress(say: (line: string) => void): this {
    this.#say = say
    return this
  }

  /** For an engine whose network isn't ours. */
  withReach(reach: Reach): this {
    this.#reach = reach
    return this
  }

  protected override containerCreated(id: string): Promise<void> {
    this.#id = id
    removeWhenWeEnd(id)
    return Promise.resolve()
  }

  override async start(): Promise<StartedKindContainer> {
    const node = await this.#boot()
    try {
      const { host, port } = await this.#reach(node.getHost(), node.getMappedPort(API_SERVER_PORT))
      const version = (await succeed(node, 'Reading its version', ['cat', VERSION_FILE])).trim()
      const config = kubeadmConfig(host, version).map((part) => JSON.stringify(part))
      await node.copyContentToContainer([{ content: config.join('\n---\n'), target: KUBEADM_CONFIG }])
      for (const { title, command } of SETUP) {
        this.#say(`  ${title} …`)
        await succeed(node, title, command)
      }
      const admin = load(await succeed(node, 'Reading the kubeconfig', ['cat', ADMIN_CONFIG])) as KubeconfigFile
      return new StartedKindContainer(node, reachedAt(admin, host, port))
    } catch (error) {
      await node.stop()
      throw error
    }
  }

  /** @throws KindError with the node's last words: the engine itself tells only that a container isn't running */
  async #boot(): Promise<StartedTestContainer> {
    try {
      return await super.start()
    } catch (cause) {
      if (this.#id !== undefined) await removeContainer(this.#id)
      if (this.#log.length === 0) throw cause
      throw new KindError(`The node ended during its start. Its log ends with:\n${this.#log.join('\n')}`, { cause })
    }
  }
}

export class StartedKindContainer extends AbstractStartedContainer {
  /** For clients on this machine. */
  readonly kubeconfig: KubeconfigFile
  #inputs = 0

  constructor(node: StartedTestContainer, kubeconfig: KubeconfigFile) {
    super(node)
    this.kubeconfig = kubeconfig
  }

  /** Makes the images of an archive (`docker save`) known to the node, so that pods need no registry for them. */
  async load(archive: string): Promise<void> {
    const target = `/kind/${basename(archive)}`
    await this.copyFilesToContainer([{ source: archive, target }])
    await succeed(this, 'Loading an image', loadCommand(target))
    await this.exec(['rm', target])
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
    if (exitCode !== 0) throw new KubectlError(`kubectl ${args.join(' ')}: ${output.trim()}`)
    return output
  }
}

const succeed = async (node: StartedTestContainer, title: string, command: readonly string[]): Promise<string> => {
  const { exitCode, output, stdout } = await node.exec([...command])
  if (exitCode === 0) return stdout
  throw new KindError(`${title} failed (exit ${exitCode}): ${output.trim().split('\n').slice(-15).join('\n')}`)
}
