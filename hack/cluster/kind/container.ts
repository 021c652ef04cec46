import { basename } from 'node:path'
import { load } from 'js-yaml'
import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import type { KubeconfigFile } from '../kubeconfig.ts'
import { type Kubectl, KubectlError } from '../kubectl.ts'
import { loadCommand } from './images.ts'
import { ADMIN_CONFIG, API_SERVER_PORT, BOOTED, IMAGE, KUBEADM_CONFIG, kubeadmConfig, SETUP } from './plan.ts'
import { reachedAt } from './reach.ts'

/** The cluster came so far and no further: the message has the step and the last words of its command. */
export class KindError extends Error {
  override readonly name = 'KindError'
}

/**
 * A kind node as a testcontainer: Kubernetes, with its own container runtime, in one privileged container.
 * testcontainers removes it when we end, however we end.
 */
export class KindContainer extends GenericContainer {
  #say: (line: string) => void = () => undefined

  /** @param readable folders of this machine that the node's kubectl may read, at the same path */
  constructor(readable: readonly string[] = []) {
    super(IMAGE)
    this.withPrivilegedMode()
      .withSecurityOpt('seccomp=unconfined', 'apparmor=unconfined')
      // systemd wants its own /run and /tmp; containerd can't put an overlay on the container's overlay, so /var is apart.
      .withTmpFs({ '/run': 'rw,exec', '/tmp': 'rw,exec', '/var': 'rw,exec' })
      .withBindMounts(['/lib/modules', ...readable].map((path) => ({ source: path, target: path, mode: 'ro' })))
      .withExposedPorts(API_SERVER_PORT)
      .withWaitStrategy(Wait.forSuccessfulCommand(BOOTED))
      .withStartupTimeout(180_000)
    // The entrypoint arranges cgroups for systemd, which must not be the machine's own.
    Object.assign(this.hostConfig, { CgroupnsMode: 'private' })
  }

  /** Where the lines of progress go. */
  withProgress(say: (line: string) => void): this {
    this.#say = say
    return this
  }

  override async start(): Promise<StartedKindContainer> {
    const node = await super.start()
    try {
      const config = kubeadmConfig(node.getHost()).map((part) => JSON.stringify(part))
      await node.copyContentToContainer([{ content: config.join('\n---\n'), target: KUBEADM_CONFIG }])
      for (const { title, command } of SETUP) {
        this.#say(`  ${title} …`)
        await succeed(node, title, command)
      }
      const admin = load(await succeed(node, 'Reading the kubeconfig', ['cat', ADMIN_CONFIG])) as KubeconfigFile
      return new StartedKindContainer(node, reachedAt(admin, node.getHost(), node.getMappedPort(API_SERVER_PORT)))
    } catch (error) {
      await node.stop()
      throw error
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
