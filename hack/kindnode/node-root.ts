import { execFile } from 'node:child_process'
import { appendFile, copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { KUBERNETES_VERSION } from '../controlplane/binaries.ts'
import { startChild, untilReady } from '../process/child.ts'
import { temporaryFolder } from '../process/folder.ts'
import { kindSource, layBaseFiles, storageManifest } from './kind-files.ts'
import { kubeadmImages } from './system-images.ts'

const run = promisify(execFile)

/** Debian's packages in a node; kind's base image has nearly the same. */
export const NODE_PACKAGES = `
  systemd systemd-sysv dbus
  conntrack ethtool ipset iproute2 iptables kmod mount nftables socat
  jq procps runc ca-certificates busybox-static
`
  .trim()
  .split(/\s+/)

const NETWORK_MANIFEST = join(import.meta.dirname, 'files/network.yaml')

/** Makes a copy of Debian's root file system one of a kind node, as the Dockerfile of kind's base image does. */
export const layNode = async (
  root: string,
  folders: { readonly kubernetes: string; readonly node: string; readonly controlPlane: string },
): Promise<void> => {
  const kind = await kindSource()
  await layBaseFiles(kind, root)
  await quieten(root)
  const put = async (target: string, ...programs: readonly string[]): Promise<void> => {
    await mkdir(join(root, target), { recursive: true })
    for (const program of programs) await copyFile(program, join(root, target, basename(program)))
  }
  const of = (folder: string, ...names: readonly string[]) => names.map((name) => join(folder, name))
  await put('usr/bin', ...of(folders.kubernetes, 'kubelet', 'kubeadm'), join(folders.controlPlane, 'kubectl'))
  await put('usr/local/bin', ...of(folders.node, 'containerd', 'containerd-shim-runc-v2', 'ctr', 'crictl'))
  await put('opt/cni/bin', ...of(folders.node, 'host-local', 'loopback', 'ptp', 'portmap'))
  const [pause = ''] = (await kubeadmImages(join(folders.kubernetes, 'kubeadm')))('pause')
  await configureContainerd(root, join(folders.node, 'ctr'), pause)
  // A kubelet of this version leaves cgroup v1 by default, which some machines still have.
  await writeFile(
    join(root, 'etc/default/kubelet'),
    'KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service --fail-cgroupv1=false\n',
  )
  await mkdir(join(root, 'etc/kubernetes/manifests'), { recursive: true })
  await mkdir(join(root, 'kind/manifests'), { recursive: true })
  await writeFile(join(root, 'kind/version'), KUBERNETES_VERSION)
  await copyFile(NETWORK_MANIFEST, join(root, 'kind/manifests/default-cni.yaml'))
  await writeFile(join(root, 'kind/manifests/default-storage.yaml'), await storageManifest(kind))
}

/** systemd starts what a node needs and nothing else; nothing in it sets what belongs to the whole machine. */
const quieten = async (root: string): Promise<void> => {
  const units = join(root, 'lib/systemd/system')
  for (const target of ['multi-user.target.wants', 'local-fs.target.wants', 'basic.target.wants'])
    await rm(join(units, target), { recursive: true, force: true })
  for (const wants of await readdir(join(root, 'etc/systemd/system')))
    if (wants.endsWith('.wants')) await rm(join(root, 'etc/systemd/system', wants), { recursive: true })
  await rm(join(units, 'sysinit.target.wants/systemd-tmpfiles-setup.service'), { force: true })
  for (const unit of await readdir(join(units, 'sockets.target.wants')))
    if (/udev|initctl/.test(unit)) await rm(join(units, 'sockets.target.wants', unit))
  // Such as the largest process id; what kind sets itself is its own network's alone.
  await rm(join(root, 'usr/lib/sysctl.d'), { recursive: true, force: true })
  await rm(join(root, 'etc/sysctl.conf'), { force: true })
  await rm(join(root, 'etc/sysctl.d/99-sysctl.conf'), { force: true })
  await appendFile(join(root, 'etc/systemd/journald.conf'), 'ReadKMsg=no\n')
  await run('chroot', [root, 'systemctl', 'enable', 'kubelet', 'containerd', 'undo-mount-hacks'])
  await run('chroot', [root, 'systemctl', 'mask', 'systemd-binfmt'])
  await rm(join(root, 'etc/machine-id'), { force: true })
  await writeFile(join(root, 'etc/machine-id'), '')
  await rm(join(root, 'sbin/init'), { force: true })
  await symlink('/usr/lib/systemd/systemd', join(root, 'sbin/init'))
}

/** kind's configuration, for a machine that may lack CAP_SYS_RESOURCE: then no process may lower its oom_score_adj. */
const configureContainerd = async (root: string, ctr: string, pause: string): Promise<void> => {
  const file = join(root, 'etc/containerd/config.toml')
  const config = await readFile(file, 'utf8')
  const ours = config
    .replace(/sandbox_image = ".*"/, `sandbox_image = "${pause}"`)
    .replace('restrict_oom_score_adj = false', 'restrict_oom_score_adj = true')
    .replace(/^\[proxy_plugins[\s\S]*?address = .*$/m, '')
  await writeFile(file, ours)
  const spec = JSON.parse((await run(ctr, ['oci', 'spec'])).stdout)
  delete spec.process.rlimits
  spec.hooks = { ...spec.hooks, createContainer: [{ path: '/kind/bin/mount-product-files.sh' }] }
  await writeFile(join(root, 'etc/containerd/cri-base.json'), JSON.stringify(spec))
}

/** Plugins that a containerd without containers has no use for, and that would look at this machine's network or make folders in its /opt. */
const DISABLED = [
  'io.containerd.cri.v1.images',
  'io.containerd.cri.v1.runtime',
  'io.containerd.grpc.v1.cri',
  'io.containerd.internal.v1.opt',
  'io.containerd.nri.v1.nri',
]

/** Puts images into the store of the node's containerd, so that a node starts with them. */
export const importImages = async (root: string, programs: string, archives: readonly string[]): Promise<void> => {
  // Paths of sockets are short.
  const scratch = await temporaryFolder('containerd')
  const store = join(root, 'var/lib/containerd')
  await mkdir(store, { recursive: true })
  const socket = join(scratch, 'containerd.sock')
  const config = join(scratch, 'config.toml')
  const settings = {
    version: 3,
    root: JSON.stringify(store),
    state: JSON.stringify(join(scratch, 'state')),
    disabled_plugins: JSON.stringify(DISABLED),
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const sockets = [
    '[grpc]',
    `address = ${JSON.stringify(socket)}`,
    '[ttrpc]',
    `address = ${JSON.stringify(`${socket}.ttrpc`)}`,
  ]
  await writeFile(config, [...lines, ...sockets].join('\n'))
  const containerd = await startChild({
    command: join(programs, 'containerd'),
    args: ['--config', config],
    logFile: join(scratch, 'containerd.log'),
    guarded: true,
  })
  const ctr = (...args: readonly string[]) => run(join(programs, 'ctr'), [`--address=${socket}`, ...args])
  try {
    const answers = () =>
      ctr('version').then(
        () => true,
        () => false,
      )
    await untilReady(containerd, answers)
    for (const archive of archives)
      await ctr('--namespace=k8s.io', 'images', 'import', '--all-platforms', '--no-unpack', '--digests', archive)
  } finally {
    await containerd.stop()
    await rm(scratch, { recursive: true, force: true })
  }
}
