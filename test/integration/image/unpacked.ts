/** The image without a container engine: what its Dockerfile copies, laid over its base in a folder, and run in there. */
import { chmod, cp, mkdir, realpath, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { CHECKOUT, lastStage } from '#hack/image/dockerfile.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startMuster } from '#test/harness/index.ts'
import { layRuntimeBase } from './base.ts'
import { digestsIn, type Place, without } from './place.ts'

/** Where the Dockerfile's build stage has the checkout. */
const SOURCE = '/src'

const SCRIPT = join(import.meta.dirname, 'unpacked.sh')

/** Where container engines look for programs, unless the image says something else. */
const SEARCHED = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Why it can't be run here, and what to do; undefined when it can. */
export const unpackedMissing = (): string | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0
    ? undefined
    : 'Mounts and other users need root on Linux: run the tests as root'

/**
 * @param dist what `npm run build` has written, from where the build stage has it
 * @param args values for the Dockerfile's ARGs
 */
export const unpacked = async (dist: string, args: Readonly<Record<string, string>>): Promise<Place> => {
  const { copies, configuration } = await lastStage(args)
  const root = await temporaryFolder('unpacked')
  // A temporary folder is for its owner alone; the image's user looks into this one.
  await chmod(root, 0o755)
  await layRuntimeBase(root)
  const base = await digestsIn(root)
  for (const { source, target } of copies) {
    const path = relative(SOURCE, source)
    const found = path === 'dist' ? dist : await realpath(join(CHECKOUT, path))
    await mkdir(join(root, dirname(target)), { recursive: true })
    await cp(found, join(root, target), { recursive: true })
  }
  const [entrypoint = ''] = configuration.entrypoint
  return {
    configuration,
    files: async () => without(await digestsIn(root), base),
    start: ({ args: own, program = entrypoint, env = {}, volumes = {} }) => {
      const mounts = Object.entries(volumes).map(([path, folder]) => `${folder}:${path}`)
      const inside = [SCRIPT, root, configuration.user, ...mounts, '--', program]
      // What the test run has Node.js load (hack/testing/uncaught.ts) is not in the image.
      return startMuster([...inside, ...own], { PATH: SEARCHED, NODE_OPTIONS: '', ...env }, [
        'unshare',
        '--mount',
        '--propagation=private',
        '/bin/sh',
      ])
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}
