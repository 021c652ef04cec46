/** The image as it is delivered: built from the Dockerfile by podman, and run by it. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildImage } from '#hack/image/build.ts'
import type { Configuration } from '#hack/image/dockerfile.ts'
import { findEngine } from '#hack/image/engine.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { startMuster } from '#test/harness/index.ts'
import { layBuildBase, layRuntimeBase, TRUSTED } from './base.ts'
import { digestsIn, type Place, type Run, without } from './place.ts'
import { ownPodman, type Podman } from './podman.ts'

const run = promisify(execFile)

const TAG = 'localhost/muster:test'
const RUNTIME_BASE = 'localhost/runtime:test'
const BUILD_BASE = 'localhost/build:test'
const NPM_CACHE = '/var/cache/npm'

/** Seconds after which a container ends by itself, should the test be killed. */
const LIFETIME = 600

/** Builds it on bases that are made here, or says why podman, though it is there, can run no container on this machine. */
export const inContainer = async (): Promise<Place | string> => {
  await using stack = new AsyncDisposableStack()
  const cache = (await run('npm', ['config', 'get', 'cache'])).stdout.trim()
  const podman = stack.use(await ownPodman({ folder: join(cache, '_cacache'), path: `${NPM_CACHE}/_cacache` }))
  await importBase(podman, RUNTIME_BASE, layRuntimeBase, {})
  await importBase(podman, BUILD_BASE, layBuildBase, {
    npm_config_cache: NPM_CACHE,
    npm_config_prefer_offline: 'true',
    ...(process.env.NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS: TRUSTED }),
  })
  try {
    await podman.podman('run', '--rm', BUILD_BASE, '/bin/sh', '-c', 'exit')
  } catch (error) {
    return `podman can run no container here: ${(error as Error).message}`
  }
  await buildImage({
    engine: await findEngine('podman'),
    tag: TAG,
    bases: { BUILD_IMAGE: BUILD_BASE, RUNTIME_IMAGE: RUNTIME_BASE },
    env: podman.buildEnv,
  })
  const configuration = await configurationOf(podman)
  const own = stack.move()
  return {
    configuration,
    files: async () => {
      const base = await digestsIn((await podman.podman('image', 'mount', RUNTIME_BASE)).trim())
      return without(await digestsIn((await podman.podman('image', 'mount', TAG)).trim()), base)
    },
    start: (wanted) => startMuster(commandOf(wanted), podman.env, ['podman']),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  }
}

/** As Kubernetes runs it with the security context of kustomize/. */
const commandOf = ({ args, program, env = {}, volumes = {} }: Run): readonly string[] => [
  'run',
  '--rm',
  `--name=muster-${randomBytes(4).toString('hex')}`,
  `--timeout=${LIFETIME}`,
  '--read-only',
  '--read-only-tmpfs=false',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`),
  ...Object.entries(volumes).map(([path, folder]) => `--volume=${folder}:${path}`),
  ...(program === undefined ? [] : [`--entrypoint=${program}`]),
  TAG,
  ...args,
]

const importBase = async (
  podman: Podman,
  name: string,
  lay: (folder: string) => Promise<void>,
  env: Readonly<Record<string, string>>,
): Promise<void> => {
  const folder = await temporaryFolder('base')
  await lay(folder)
  await podman.importFolder(name, folder, env)
  await rm(folder, { recursive: true })
}

const configurationOf = async ({ podman }: Podman): Promise<Configuration> => {
  const [image] = JSON.parse(await podman('image', 'inspect', TAG)) as {
    Config: { User: string; Entrypoint: string[]; Labels: Record<string, string> }
  }[]
  if (image === undefined) throw new Error(`podman knows no image ${TAG}`)
  const { User: user, Entrypoint: entrypoint, Labels: labels } = image.Config
  return { user, entrypoint, labels }
}
