import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { SetupError } from '../process/errors.ts'

const run = promisify(execFile)

/** What an image is built from and called. */
export interface Order {
  /** registry/name:tag */
  readonly tag: string
  /** Values for the Dockerfile's ARGs. */
  readonly args: Readonly<Record<string, string>>
  /** Seconds since 1970 that every file and the image itself are said to be from; undefined: now, and no two builds are alike. */
  readonly epoch: number | undefined
  /** Where the engine writes the image's ID. */
  readonly idFile: string
}

/** A program that builds images from a Dockerfile. */
export interface Engine {
  readonly name: string
  /** Its arguments; each fails where the engine can't build. */
  readonly probes: readonly (readonly string[])[]
  /** Its arguments; the folder of the Dockerfile is the working directory. */
  command(order: Order): readonly string[]
}

const buildArgs = (args: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`)

const docker: Engine = {
  name: 'docker',
  // The daemon answers, and BuildKit is there: the old builder knows no times.
  probes: [['info'], ['buildx', 'version']],
  command: ({ tag, args, epoch, idFile }) => [
    'buildx',
    'build',
    // An attestation makes an index of the image, which has the time of the build in it.
    '--provenance=false',
    `--iidfile=${idFile}`,
    ...buildArgs(epoch === undefined ? args : { ...args, SOURCE_DATE_EPOCH: String(epoch) }),
    `--output=type=docker,name=${tag}${epoch === undefined ? '' : ',rewrite-timestamp=true'}`,
    '.',
  ],
}

const daemonless = (name: string): Engine => ({
  name,
  probes: [['info']],
  command: ({ tag, args, epoch, idFile }) => [
    'build',
    `--iidfile=${idFile}`,
    ...buildArgs(args),
    ...(epoch === undefined ? [] : [`--timestamp=${epoch}`]),
    `--tag=${tag}`,
    '.',
  ],
})

/** In the order in which they are tried. */
export const ENGINES: readonly Engine[] = [docker, daemonless('podman'), daemonless('buildah')]

/**
 * The first engine that can build here, or the one of that name.
 * @throws SetupError with the reason of each
 */
export const findEngine = async (engineName?: string): Promise<Engine> => {
  const candidates = ENGINES.filter(({ name }) => engineName === undefined || name === engineName)
  const names = ENGINES.map(({ name }) => name).join(', ')
  if (candidates.length === 0) throw new SetupError(`There is no engine "${engineName}": write one of ${names}`)
  const reasons: string[] = []
  for (const engine of candidates) {
    const reason = await unavailable(engine)
    if (reason === undefined) return engine
    reasons.push(`  - ${engine.name}: ${reason}`)
  }
  throw new SetupError(
    `Nothing here can build an image:\n${reasons.join('\n')}\nStart Docker, or install podman ("apt-get install podman" on Debian)`,
  )
}

/** Why it can't build here, in its own words; undefined when it can. */
const unavailable = async ({ name, probes }: Engine): Promise<string | undefined> => {
  try {
    for (const probe of probes) await run(name, [...probe])
    return undefined
  } catch (cause) {
    const { code, stderr, message } = cause as NodeJS.ErrnoException & { stderr?: string }
    return code === 'ENOENT' ? 'not installed' : stderr?.trim().split('\n')[0] || message
  }
}
