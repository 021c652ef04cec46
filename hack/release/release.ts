/** The files of a release. The same commit gives the same files, wherever they are made. */
import { execFile } from 'node:child_process'
import { createHash, createPrivateKey, sign } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { checkoutInfo } from '#cmd/build-info.ts'
import { BILL, ship } from '../build/ship.ts'
import { packRuntime } from '../package/runtime-package.ts'
import { temporaryFolder } from '../process/folder.ts'
import { notesOf, ReleaseError } from './notes.ts'
import { type Artefact, imageSubject, provenanceOf } from './provenance.ts'

const run = promisify(execFile)

export const CHECKSUMS = 'SHA256SUMS'
export const PROVENANCE = 'provenance.intoto.json'

export interface ReleaseOptions {
  /** A checkout of this repository. */
  readonly root: string
  /** Where the files come to be; what is there is removed. */
  readonly folder: string
  /** By its digest, name@sha256:…; install.yaml keeps the tag when undefined. */
  readonly image?: string | undefined
  /** Path of an Ed25519 key in PEM, which signs the checksums. */
  readonly key?: string | undefined
  /** Uncommitted changes are no reason to refuse. */
  readonly allowDirty?: boolean
}

/**
 * Bundle, runtime, install.yaml, CRDs, bill of materials, notes, provenance, checksums and their signature.
 * @returns names of the files
 * @throws ReleaseError when the checkout, the changelog or an option is not fit for a release
 */
export const release = async ({ root, folder, image, key, allowDirty }: ReleaseOptions): Promise<readonly string[]> => {
  const info = checkoutInfo(root)
  if (info.commit.endsWith('-dirty') && !allowDirty)
    throw new ReleaseError(
      'the checkout has changes that are not committed: commit them, so that others can make the same release',
    )
  if (image !== undefined && !/@sha256:[0-9a-f]{64}$/.test(image))
    throw new ReleaseError(`--image=${image} names no digest: write name@sha256:…, as the push printed it`)
  const notes = notesOf(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), info.version)
  const signingKey = key === undefined ? undefined : await readKey(key)

  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await packBundle(folder, info)
  const runtime = await packRuntime(join(folder, 'runtime'))
  await rename(runtime, join(folder, `muster-operator-${info.version}.tgz`))
  await rm(join(folder, 'runtime'), { recursive: true })
  await writeFile(
    join(folder, 'install.yaml'),
    withImage(await readFile(join(root, 'manifests/install.yaml'), 'utf8'), image),
  )
  await writeFile(join(folder, 'crds.yaml'), await allCrds(join(root, 'manifests/crds')))
  await writeFile(join(folder, 'RELEASE-NOTES.md'), notes)

  const lockfile = digestOf(await readFile(join(root, 'package-lock.json')))
  const made = [...(await artefactsIn(folder)), ...(image === undefined ? [] : [imageSubject(image)])]
  const provenance = provenanceOf(made, info, lockfile)
  await writeFile(join(folder, PROVENANCE), `${JSON.stringify(provenance, undefined, 2)}\n`)
  const sums = (await artefactsIn(folder)).map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
  await writeFile(join(folder, CHECKSUMS), sums)
  if (signingKey !== undefined)
    await writeFile(join(folder, `${CHECKSUMS}.sig`), sign(undefined, Buffer.from(sums), signingKey))
  return (await readdir(folder)).sort()
}

/** muster-VERSION.tar.gz: what `node muster.mjs` needs. The bill of materials stands beside it as well. */
const packBundle = async (folder: string, info: ReturnType<typeof checkoutInfo>): Promise<void> => {
  const name = `muster-${info.version}`
  const draft = await temporaryFolder('release')
  try {
    await ship(join(draft, name), info)
    await copyFile(join(draft, name, BILL), join(folder, BILL))
    const tar = join(folder, `${name}.tar`)
    await run('tar', ['--create', `--file=${tar}`, `--directory=${draft}`, ...REPRODUCIBLE, name])
    await run('gzip', ['--no-name', '--best', tar])
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** No owner, time or umask of the machine. */
const REPRODUCIBLE = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--mode=a+rX,u+w,go-w', '--mtime=@0']

const withImage = (manifest: string, image: string | undefined): string =>
  image === undefined ? manifest : manifest.replaceAll(/(?<=image: )quay\.io\/hyperfleet\/muster:\S+/g, image)

const allCrds = async (folder: string): Promise<string> => {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml').sort()
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
  return texts.map((text) => (text.startsWith('---') ? text : `---\n${text}`)).join('')
}

const artefactsIn = async (folder: string): Promise<readonly Artefact[]> => {
  const names = (await readdir(folder)).sort()
  return await Promise.all(
    names.map(async (name) => ({ name: basename(name), sha256: digestOf(await readFile(join(folder, name))) })),
  )
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const readKey = async (path: string) => {
  try {
    const key = createPrivateKey(await readFile(path))
    if (key.asymmetricKeyType === 'ed25519') return key
    throw new Error(`it is of type ${key.asymmetricKeyType}`)
  } catch (error) {
    throw new ReleaseError(
      `--key=${path} is no Ed25519 key in PEM (${(error as Error).message}): openssl genpkey -algorithm ed25519 -out release.pem`,
    )
  }
}
