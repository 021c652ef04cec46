/** A container image from a folder, as `docker save` writes one, without a container engine. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { temporaryFolder } from '../process/folder.ts'

const run = promisify(execFile)

export interface ImageContent {
  /** Becomes the root of the image; every file belongs to root there. */
  readonly folder: string
  /** Full names: docker.io/library/busybox:1.37.0 */
  readonly tags: readonly string[]
  readonly entrypoint?: readonly string[] | undefined
  /** uid:gid; root when undefined. */
  readonly user?: string | undefined
  /** Beside PATH. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** What an engine sends to end it; SIGTERM when undefined. */
  readonly stopSignal?: string | undefined
}

/** Where programs are looked for. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** No owner, time or umask of this machine: the same folder gives the same image, which every user of it can read. */
const ALIKE = [
  '--sort=name',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=a+rX',
  '--mtime=@0',
  '--format=pax',
] as const
const NO_TIMES = '--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime'

/** Go's names of the platforms that Node.js runs on. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64' }

/** Writes the archive with one layer. It appears under its name when it is complete. */
export const writeImageArchive = async (archive: string, content: ImageContent): Promise<void> => {
  const draft = await temporaryFolder('archive')
  try {
    const layer = join(draft, 'layer.tar')
    await run('tar', ['--create', `--file=${layer}`, `--directory=${content.folder}`, ...ALIKE, NO_TIMES, '.'])
    const config = JSON.stringify(imageConfig(content, await digestOf(layer)))
    const name = `${createHash('sha256').update(config).digest('hex')}.json`
    await writeFile(join(draft, name), config)
    const manifest = [{ Config: name, RepoTags: content.tags, Layers: ['layer.tar'] }]
    await writeFile(join(draft, 'manifest.json'), JSON.stringify(manifest))
    await mkdir(dirname(archive), { recursive: true })
    const unfinished = `${archive}.${process.pid}`
    await run('tar', ['--create', `--file=${unfinished}`, `--directory=${draft}`, ...ALIKE, NO_TIMES, '.'])
    await rename(unfinished, archive)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** OCI image configuration. @param layer sha256 of the layer, in hex */
export const imageConfig = (
  { entrypoint, user, env = {}, labels = {}, stopSignal }: ImageContent,
  layer: string,
): object => ({
  architecture: ARCHITECTURES[process.arch] ?? process.arch,
  os: 'linux',
  config: {
    Env: Object.entries({ PATH, ...env }).map(([name, value]) => `${name}=${value}`),
    ...(entrypoint && { Entrypoint: entrypoint }),
    ...(user && { User: user }),
    ...(stopSignal && { StopSignal: stopSignal }),
    Labels: labels,
  },
  rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
  history: [{ created_by: 'muster' }],
})

const digestOf = async (file: string): Promise<string> => {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
