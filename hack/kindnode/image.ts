import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolder } from '../cache/folder.ts'
import { makeOnce, type Say } from '../cache/make-once.ts'
import { onPath } from '../cluster/programs.ts'
import { CONTROL_PLANE, KUBERNETES_VERSION, NODE_KUBERNETES } from '../controlplane/binaries.ts'
import { debianRootMissing, ensureDebianRoot } from '../debian/root.ts'
import { ensureBinaries, isBuilt } from '../gobuild/build.ts'
import { cacheKey } from '../gobuild/set.ts'
import { writeImageArchive } from '../image/archive.ts'
import { NODE_PROGRAMS } from './binaries.ts'
import { imagesIn, kindSource, storageManifest } from './kind-files.ts'
import { importImages, layNode, NODE_PACKAGES } from './node-root.ts'
import { writeSystemImages } from './system-images.ts'

const run = promisify(execFile)

/** An image of a kind node, as a file. */
export interface NodeImage {
  /** Its name in the archive. */
  readonly tag: string
  /** For `docker load`. */
  readonly archive: string
}

const FILES = [
  'binaries.ts',
  'image.ts',
  'kind-files.ts',
  'node-root.ts',
  'system-images.ts',
  'files/network.yaml',
] as const

const SETS = [CONTROL_PLANE, NODE_KUBERNETES, NODE_PROGRAMS] as const

/** The same sources, programs and packages give the same image in every checkout. */
const inputs = (): string => {
  const hash = createHash('sha256')
  for (const file of [...FILES, '../image/archive.ts'])
    hash.update(readFileSync(join(import.meta.dirname, file))).update('\0')
  for (const set of SETS) hash.update(cacheKey(set)).update('\0')
  return hash.digest('hex').slice(0, 12)
}

/** The one that this checkout makes, whether it is there or not. */
export const nodeImage = (): NodeImage => {
  const name = `${KUBERNETES_VERSION}-${inputs()}`
  return { tag: `docker.io/muster/node:${name}`, archive: join(cacheFolder(), 'node-image', name, 'node.tar') }
}

/** Why no node image can be made here, and what to do; undefined when there is one already, or one can be made. */
export const nodeImageMissing = (): string | undefined => {
  if (existsSync(nodeImage().archive)) return undefined
  const reason = debianRootMissing()
  if (reason !== undefined) return reason
  return SETS.every(isBuilt) || onPath('go') !== undefined
    ? undefined
    : 'A node image is built with Go, and "go" is not on the PATH: install Go 1.26 (https://go.dev/dl)'
}

/** How many images stay, a gigabyte each: two checkouts may take turns. */
const KEPT = 3

/**
 * The image of a kind node, made from Debian's packages and Go's modules alone when the cache doesn't have it: where no registry
 * can be reached nothing else is to be had. Root only.
 */
export const ensureNodeImage = async (say: Say, signal?: AbortSignal): Promise<NodeImage> => {
  const image = nodeImage()
  const folder = join(image.archive, '..')
  const make = async (draft: string): Promise<void> => {
    const expected = SETS.every(isBuilt) ? 'two minutes' : 'five to fifteen minutes, most of them for Go'
    say(`Making an image of a kind node with Kubernetes ${KUBERNETES_VERSION} (${expected}) …`)
    const startedAt = performance.now()
    const done = (what: string) => say(`  ${what} (${Math.round((performance.now() - startedAt) / 1000)} s)`)
    const controlPlane = await ensureBinaries(CONTROL_PLANE, say, signal)
    const kubernetes = await ensureBinaries(NODE_KUBERNETES, say, signal)
    const node = await ensureBinaries(NODE_PROGRAMS, say, signal)
    done('1/5 programs')
    const debian = await ensureDebianRoot(NODE_PACKAGES, say, signal)
    done('2/5 Debian')
    const scratch = join(draft, 'scratch')
    const root = join(scratch, 'root')
    const images = join(scratch, 'images')
    for (const empty of [scratch, images]) await mkdir(empty)
    const [provisioner = '', helper = ''] = imagesIn(await storageManifest(await kindSource()))
    const archives = await writeSystemImages(
      { controlPlane, kubernetes, node, root: debian },
      { provisioner, helper },
      images,
    )
    done(`3/5 ${archives.length} images of the cluster`)
    signal?.throwIfAborted()
    await run('cp', ['--archive', debian, root])
    await layNode(root, { controlPlane, kubernetes, node })
    await importImages(root, node, archives)
    done('4/5 the node with them')
    signal?.throwIfAborted()
    await writeImageArchive(join(draft, 'node.tar'), {
      folder: root,
      tags: [image.tag],
      entrypoint: ['/usr/local/bin/entrypoint', '/sbin/init'],
      env: { container: 'docker' },
      stopSignal: 'SIGRTMIN+3',
    })
    await rm(scratch, { recursive: true })
    done('5/5 its image')
  }
  await makeOnce({ folder, title: 'an image of a kind node', kept: KEPT, make }, say)
  return image
}
