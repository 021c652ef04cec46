import { execFile } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { KUBERNETES_VERSION } from '../controlplane/binaries.ts'
import { writeImageArchive } from '../image/archive.ts'

const run = promisify(execFile)

/** What the images of a cluster are made from. */
export interface SystemPrograms {
  /** Folders with programs. */
  readonly controlPlane: string
  readonly kubernetes: string
  readonly node: string
  /** A root file system with iptables, nft, conntrack and busybox. */
  readonly root: string
}

/** The images of kind's storage class. */
export interface StorageImages {
  readonly provisioner: string
  readonly helper: string
}

/**
 * Names of the image with a shell: as the network's manifest has it, and as the samples' Jobs do, which could not run where nothing
 * can be pulled. It is Debian's busybox, whatever its tag says.
 */
export const SHELL_TAGS = ['docker.io/muster/busybox:local', 'docker.io/library/busybox:1.37.0'] as const

/**
 * Writes an archive for each image that kubeadm and the manifests of kind name, from programs that were built here.
 * @param scratch an empty folder
 * @returns the paths of the archives
 */
export const writeSystemImages = async (
  programs: SystemPrograms,
  storage: StorageImages,
  scratch: string,
): Promise<readonly string[]> => {
  const names = await kubeadmImages(join(programs.kubernetes, 'kubeadm'))
  const archives: string[] = []
  const write = async (name: string, tags: readonly string[], entrypoint?: readonly string[]): Promise<void> => {
    const archive = join(scratch, `${name}.tar`)
    await writeImageArchive(archive, { folder: join(scratch, name), tags, ...(entrypoint && { entrypoint }) })
    archives.push(archive)
  }
  const withProgram = async (name: string, folder: string): Promise<void> => {
    await put(join(folder, name), join(scratch, name, 'usr/local/bin', name))
    await mkdir(join(scratch, name, 'tmp'))
    await chmod(join(scratch, name, 'tmp'), 0o1777)
  }
  for (const name of ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'] as const) {
    await withProgram(name, programs.controlPlane)
    await write(name, names(name))
  }
  for (const name of ['coredns', 'pause'] as const) {
    await withProgram(name, programs.node)
    await write(name, names(name), [`/usr/local/bin/${name}`])
  }
  await withProgram('kube-proxy', programs.kubernetes)
  await layIptables(programs.root, join(scratch, 'kube-proxy'))
  await write('kube-proxy', names('kube-proxy'))
  await withProgram('local-path-provisioner', programs.node)
  await write('local-path-provisioner', [storage.provisioner])
  await layBusybox(programs.root, join(scratch, 'busybox'))
  await write('busybox', [...SHELL_TAGS, storage.helper])
  return archives
}

/** The full names of the images that this kubeadm asks for, by their short names. It asks no network for a known version. */
export const kubeadmImages = async (kubeadm: string): Promise<(name: string) => readonly string[]> => {
  const { stdout } = await run(kubeadm, ['config', 'images', 'list', `--kubernetes-version=${KUBERNETES_VERSION}`])
  const images = stdout.trim().split('\n')
  return (name) => {
    const found = images.filter((image) => image.split('/').at(-1)?.split(':')[0] === name)
    if (found.length === 0) throw new Error(`kubeadm asks for no image ${name}: ${images.join(', ')}`)
    return found
  }
}

const put = async (source: string, target: string): Promise<void> => {
  await mkdir(dirname(target), { recursive: true })
  await copyFile(source, target)
  await chmod(target, 0o755)
}

/** A shell with the usual programs, each of them one file. */
const layBusybox = async (root: string, folder: string): Promise<void> => {
  await put(join(root, 'bin/busybox'), join(folder, 'bin/busybox'))
  const { stdout } = await run(join(root, 'bin/busybox'), ['--list'])
  for (const name of stdout
    .trim()
    .split('\n')
    .filter((applet) => applet !== 'busybox'))
    await symlink('busybox', join(folder, 'bin', name))
  for (const empty of ['tmp', 'etc', 'usr/bin', 'var/run', 'root'])
    await mkdir(join(folder, empty), { recursive: true })
  await chmod(join(folder, 'tmp'), 0o1777)
}

const IPTABLES = [
  'iptables',
  'iptables-save',
  'iptables-restore',
  'ip6tables',
  'ip6tables-save',
  'ip6tables-restore',
] as const

/** What kube-proxy calls, with the libraries that those load by name as well as those that ldd tells of. */
const layIptables = async (root: string, folder: string): Promise<void> => {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(folder, name))
  for (const empty of ['run', 'var', 'usr/bin', 'usr/lib', 'usr/lib64', 'usr/sbin'])
    await mkdir(join(folder, empty), { recursive: true })
  const programs = ['/usr/sbin/xtables-nft-multi', '/usr/sbin/nft', '/usr/sbin/conntrack']
  for (const program of programs) await put(join(root, program), join(folder, program))
  for (const name of IPTABLES) await symlink('xtables-nft-multi', join(folder, 'usr/sbin', name))
  const { stdout: modules } = await run('find', ['usr/lib', '-path', '*/xtables/*.so'], { cwd: root })
  const loaded = modules
    .trim()
    .split('\n')
    .map((path) => `/${path}`)
  for (const module of loaded) await put(join(root, module), join(folder, module))
  const { stdout } = await run('chroot', [root, 'ldd', ...programs, ...loaded])
  const libraries = new Set([...stdout.matchAll(/(\/\S+\.so\S*)(?= \(0x)/g)].map(([path]) => path))
  for (const library of libraries) {
    // /lib is a link to /usr/lib in both, so either name serves.
    await cp(join(root, library), join(folder, library.startsWith('/usr') ? library : `/usr${library}`), {
      dereference: true,
    })
  }
  await run('chroot', [folder, `/usr/sbin/${basename(IPTABLES[0])}`, '--match', 'statistic', '--help'])
}
