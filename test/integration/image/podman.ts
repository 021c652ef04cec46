/** A podman with images and settings of its own, so that it neither sees nor leaves anything on this machine. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '#hack/process/folder.ts'

const run = promisify(execFile)

export interface Podman extends AsyncDisposable {
  /** Its settings, for the program that starts it. */
  readonly env: NodeJS.ProcessEnv
  /** The same, for builds. */
  readonly buildEnv: NodeJS.ProcessEnv
  /** What it prints. @throws when it fails, with what it says */
  podman(...args: readonly string[]): Promise<string>
  /** Makes a base image of a folder, with these variables. */
  importFolder(name: string, folder: string, env: Readonly<Record<string, string>>): Promise<void>
}

/** @param cache npm's, which builds may read at this path and can't change */
export const ownPodman = async (cache: { readonly folder: string; readonly path: string }): Promise<Podman> => {
  const folder = await temporaryFolder('podman')
  const file = (name: string) => join(folder, name)
  await writeFile(
    file('storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${file('images')}"\nrunroot = "${file('running')}"\n`,
  )
  // The limits are lower than podman's own, which a machine may not allow to be raised.
  const settings = (volumes: readonly string[]) => `[containers]
netns = "host"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
volumes = ${JSON.stringify(volumes)}
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
`
  await mkdir(cache.folder, { recursive: true })
  await writeFile(file('run.conf'), settings([]))
  await writeFile(file('build.conf'), settings([`${cache.folder}:${cache.path}:O`]))
  const own = { ...process.env, CONTAINERS_STORAGE_CONF: file('storage.conf') }
  const env = { ...own, CONTAINERS_CONF: file('run.conf') }
  // Each step as a plain process in the image's files: no network, no limits to be set up. One layer a stage is enough.
  const build = { BUILDAH_ISOLATION: 'chroot', BUILDAH_LAYERS: 'false' }
  const buildEnv = { ...own, ...build, CONTAINERS_CONF: file('build.conf') }
  const podman = async (...args: readonly string[]) => {
    const { stdout } = await run('podman', [...args], { env, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  }
  return {
    env,
    buildEnv,
    podman,
    importFolder: async (name, content, variables) => {
      const changes = Object.entries(variables).map(([key, value]) => `--change=ENV ${key}=${value}`)
      const tar = spawn('tar', ['--create', '--directory', content, '.'], { stdio: ['ignore', 'pipe', 'inherit'] })
      const podmanImport = spawn('podman', ['import', '--quiet', ...changes, '-', name], {
        env,
        stdio: [tar.stdout, 'ignore', 'inherit'],
      })
      const [code] = (await once(podmanImport, 'exit')) as [number | null]
      if (code !== 0) throw new Error(`podman import ${name} ended with exit ${code}`)
    },
    [Symbol.asyncDispose]: async () => {
      await podman('rm', '--all', '--force', '--time=0')
      await podman('image', 'unmount', '--all', '--force')
      // It holds a mount of its own over its images.
      if (existsSync(file('images/overlay')))
        await run('umount', ['--quiet', file('images/overlay')]).catch(() => undefined)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
