/** Base images from what this machine has: a registry is not to be had everywhere, and a stage needs little of its base. */
import { copyFile, cp, mkdir, realpath, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onPath } from '#hack/cluster/programs.ts'
import { librariesOf } from '#hack/image/local/programs.ts'

const put = async (folder: string, source: string, target = source): Promise<void> => {
  const path = join(folder, target)
  await mkdir(dirname(path), { recursive: true })
  await copyFile(source, path)
}

/** What the runtime base gives Node.js: its libraries, and nothing that can be run. */
export const layRuntimeBase = async (folder: string): Promise<void> => {
  for (const library of await librariesOf(process.execPath)) await put(folder, library)
  await mkdir(join(folder, 'tmp'))
}

/** Where the build base has certificates to trust, when this machine names some. */
export const TRUSTED = '/etc/ssl/trusted.pem'

/** What the build base gives `npm ci` and `npm run build`: Node.js, npm and a shell. */
export const layBuildBase = async (folder: string): Promise<void> => {
  await layRuntimeBase(folder)
  const programs = {
    '/bin/sh': await realpath('/bin/sh'),
    '/usr/bin/env': '/usr/bin/env',
    '/usr/bin/node': process.execPath,
  }
  for (const [target, source] of Object.entries(programs)) {
    for (const library of await librariesOf(source)) await put(folder, library)
    await put(folder, source, target)
  }
  // The certificates that npm is told to trust here beside its own, as behind a company's proxy.
  const trusted = process.env.NODE_EXTRA_CA_CERTS
  if (trusted !== undefined) await put(folder, trusted, TRUSTED)
  const npm = await realpath(onPath('npm') ?? '')
  const library = '/usr/lib/node_modules/npm'
  await cp(dirname(dirname(npm)), join(folder, library), { recursive: true, verbatimSymlinks: true })
  await symlink(`${library}/bin/npm-cli.js`, join(folder, '/usr/bin/npm'))
}
