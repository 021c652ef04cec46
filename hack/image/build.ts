import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type BuildInfo, checkoutInfo } from '#cmd/build-info.ts'
import { SetupError } from '../process/errors.ts'
import { temporaryFolder } from '../process/folder.ts'
import type { Engine } from './engine.ts'

const root = join(import.meta.dirname, '../..')

/** What the manifests call the image of a build. */
export const imageOf = ({ version }: BuildInfo): string => `quay.io/hyperfleet/muster:v${version}`

export interface ImageRequest {
  readonly engine: Engine
  /** registry/name:tag */
  readonly tag: string
  /** In place of the Dockerfile's bases. */
  readonly bases: { readonly BUILD_IMAGE?: string; readonly RUNTIME_IMAGE?: string }
  /** The engine's environment; ours when undefined. */
  readonly env?: NodeJS.ProcessEnv
}

export interface Built {
  readonly info: BuildInfo
  /** sha256:…, of its configuration: the same source and bases give the same one. */
  readonly id: string
}

/**
 * Builds the image of this checkout; the engine's own lines go where ours go.
 * @throws SetupError when the engine fails
 */
export const buildImage = async ({ engine, tag, bases, env }: ImageRequest): Promise<Built> => {
  const info = checkoutInfo(root)
  const folder = await temporaryFolder('image')
  const idFile = join(folder, 'id')
  const known = Object.entries({ VERSION: info.version, COMMIT: info.commit, TIME: info.time })
  const args = { ...Object.fromEntries(known.filter(([, value]) => value !== 'unknown')), ...bases }
  const epoch = info.time === 'unknown' ? undefined : Date.parse(info.time) / 1000
  const child = spawn(engine.name, [...engine.command({ tag, args, epoch, idFile })], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  if (code !== 0) throw new SetupError(`${engine.name} ended with ${signal ?? `exit ${code}`}: its last lines say why`)
  const id = (await readFile(idFile, 'utf8')).trim()
  await rm(folder, { recursive: true, force: true })
  return { info, id }
}
