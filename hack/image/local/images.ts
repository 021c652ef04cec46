/** The images that the suite needs in a cluster, made of what is on this machine: Debian's packages, our Go builds, this checkout. */
import { existsSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type BuildInfo, checkoutInfo } from '#cmd/build-info.ts'
import { ARGOCD, ARGOCD_VERSION } from '../../argocd/binaries.ts'
import { shippedOnce } from '../../build/shipped.ts'
import type { Installable } from '../../debian/install.ts'
import { ensureBinaries } from '../../gobuild/build.ts'
import { DELIVERED_NATS } from '../../nats/binaries.ts'
import { findPostgres } from '../../postgres/find.ts'
import { POSTGRES, postgresMissing } from '../../postgres/missing.ts'
import { temporaryFolder } from '../../process/folder.ts'
import { findRedis } from '../../redis/find.ts'
import { REDIS, redisMissing } from '../../redis/missing.ts'
import { imageOf } from '../build.ts'
import { CHECKOUT, lastStage } from '../dockerfile.ts'
import { ensureArchive } from './archive-cache.ts'
import { librariesOf, programs, shell, users } from './programs.ts'
import type { Entries, ImageSource } from './source.ts'

type Say = (line: string) => void

/** Names that only we know: no registry has these images. */
export const POSTGRES_IMAGE = 'localhost/muster-test/postgres:debian'
export const GIT_IMAGE = 'localhost/muster-test/git:debian'

/** As kustomize/, its samples and Argo CD's manifests name the images of others. */
const NATS_IMAGE = 'docker.io/library/nats:2.12-alpine'
const BUSYBOX_IMAGE = 'docker.io/library/busybox:1.37.0'
const REDIS_IMAGE = 'public.ecr.aws/docker/library/redis:8.2.2-alpine'
const ARGOCD_IMAGE = `quay.io/argoproj/argocd:${ARGOCD_VERSION}`

const packaged = (name: string, file: string): Installable => ({
  title: name,
  package: name,
  missing: () => (existsSync(file) ? undefined : `${file} is missing: "apt-get install ${name}" (Debian), as root`),
})

/** What the images are made of, beside our own builds. */
export const IMAGE_PROGRAMS: readonly Installable[] = [
  POSTGRES,
  REDIS,
  packaged('git', '/usr/bin/git'),
  packaged('busybox-static', '/bin/busybox'),
]

/** Why the images can't be made here, and what to do; undefined when they can. */
export const imagesMissing = (): string | undefined => {
  if (!existsSync('/usr/bin/dpkg')) return 'Images are made of Debian’s packages: run the tests on Debian or Ubuntu'
  return IMAGE_PROGRAMS.map((program) => program.missing()).find((reason) => reason !== undefined)
}

/** What the images are called: a cluster that has them needs no registry for the suite, its samples and Argo CD. */
export const imageTags = (): readonly string[] => [
  imageOf(checkoutInfo(CHECKOUT)),
  NATS_IMAGE,
  BUSYBOX_IMAGE,
  POSTGRES_IMAGE,
  REDIS_IMAGE,
  ARGOCD_IMAGE,
  GIT_IMAGE,
]

/** Archives for `load` of a kind cluster, made where the cache doesn't have them. @returns their paths */
export const ensureImages = async (say: Say): Promise<readonly string[]> => [
  ...(await ensureSuiteImages(say)),
  ...(await ensureArchives([busybox, postgres, redis, argocd, git], say)),
]

/** Those of them that the suite can't be without. */
export const ensureSuiteImages = (say: Say): Promise<readonly string[]> => ensureArchives([muster, nats], say)

const ensureArchives = async (
  sources: readonly ((say: Say) => Promise<ImageSource>)[],
  say: Say,
): Promise<readonly string[]> => {
  const archives: string[] = []
  for (const source of sources) archives.push(await ensureArchive(await source(say), say))
  return archives
}

const muster = async (): Promise<ImageSource> => {
  const { folder, info } = await shippedOnce(async () => join(await temporaryFolder('dist'), 'dist'))
  return musterImage(folder, info)
}

/**
 * What the Dockerfile's last stage holds: its base is this machine's libraries, and the build stage is this checkout.
 * @param dist the folder with the bundle @param info of what it was built
 */
export const musterImage = async (dist: string, info: BuildInfo): Promise<ImageSource> => {
  const args = { VERSION: info.version, COMMIT: info.commit, TIME: info.time }
  const { copies, configuration } = await lastStage(args)
  const copied = copies.map(async ({ source, target }) => {
    const path = relative('/src', source)
    return [target, { from: path === 'dist' ? dist : await realpath(join(CHECKOUT, path)) }] as const
  })
  const libraries = (await librariesOf(process.execPath)).map((path) => [path, { from: path }] as const)
  return {
    name: 'muster',
    tag: imageOf(info),
    entries: { ...users({ nonroot: 65_532 }), ...Object.fromEntries([...libraries, ...(await Promise.all(copied))]) },
    ...configuration,
  }
}

const nats = async (say: Say): Promise<ImageSource> => {
  const program = '/usr/local/bin/nats-server'
  return {
    name: 'nats',
    tag: NATS_IMAGE,
    entries: { ...users({}), [program]: { from: join(await ensureBinaries(DELIVERED_NATS, say), 'nats-server') } },
    entrypoint: [program],
  }
}

const busybox = async (): Promise<ImageSource> => ({
  name: 'busybox',
  tag: BUSYBOX_IMAGE,
  entries: { ...users({ nonroot: 65_532 }), ...(await shell()) },
})

const postgres = async (): Promise<ImageSource> => {
  const folder = findPostgres()
  if (folder === undefined) throw new Error(postgresMissing())
  const version = /\d+/.exec(folder)?.[0]
  const modules = ['plpgsql', 'dict_snowball', 'libpqwalreceiver']
  const files = [
    ...['initdb', 'postgres', 'pg_isready', 'psql'].map((name) => join(folder, name)),
    ...modules.map((name) => join(dirname(folder), 'lib', `${name}.so`)),
  ]
  const shared = [`/usr/share/postgresql/${version}`, '/usr/share/zoneinfo', '/usr/lib/locale/C.utf8']
  return {
    name: 'postgres',
    tag: POSTGRES_IMAGE,
    entries: {
      ...users({ postgres: 999 }),
      ...(await shell()),
      ...(await programs(...files)),
      ...Object.fromEntries(shared.map((path) => [path, { from: path }])),
    },
    user: '999:999',
    env: { PATH: `${folder}:/bin` },
  }
}

const redis = async (): Promise<ImageSource> => {
  const program = findRedis()
  if (program === undefined) throw new Error(redisMissing())
  return {
    name: 'redis',
    tag: REDIS_IMAGE,
    entries: { ...users({ redis: 999 }), ...(await programs(program)) },
    entrypoint: [program],
  }
}

/** Its parts are one program under several names. */
const ARGOCD_NAMES = ['repo-server', 'application-controller', 'applicationset-controller', 'git-ask-pass']

const argocd = async (say: Say): Promise<ImageSource> => {
  const binaries = await ensureBinaries(ARGOCD, say)
  const bin = '/usr/local/bin'
  return {
    name: 'argocd',
    tag: ARGOCD_IMAGE,
    entries: {
      ...users({ argocd: 999 }),
      ...(await shell()),
      ...(await gitEntries()),
      ...Object.fromEntries(ARGOCD_NAMES.map((name) => [`${bin}/argocd-${name}`, { link: 'argocd' }])),
      [`${bin}/argocd`]: { from: join(binaries, 'argocd') },
      [`${bin}/kustomize`]: { from: join(binaries, 'kustomize') },
      '/home/argocd': { mode: 0o755 },
    },
    user: '999',
    env: { HOME: '/home/argocd', USER: 'argocd' },
  }
}

const git = async (): Promise<ImageSource> => ({
  name: 'git',
  tag: GIT_IMAGE,
  entries: { ...users({ nonroot: 65_532 }), ...(await shell()), ...(await gitEntries()) },
  user: '65532:65532',
})

const GIT_FOLDERS = ['/usr/lib/git-core', '/usr/share/git-core/templates']

const gitEntries = async (): Promise<Entries> => {
  const helpers = (await readdir('/usr/lib/git-core')).filter((name) =>
    ['git-daemon', 'git-remote-http'].includes(name),
  )
  return {
    ...Object.fromEntries(GIT_FOLDERS.map((path) => [path, { from: path }])),
    ...(await programs('/usr/bin/git', ...helpers.map((name) => `/usr/lib/git-core/${name}`))),
  }
}
