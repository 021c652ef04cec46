import { execFile } from 'node:child_process'
import { chmod, cp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { NODE_PROGRAMS } from './binaries.ts'

const run = promisify(execFile)

const KIND = 'sigs.k8s.io/kind'

/** The sources of kind, which go.mod pins. */
export const kindSource = async (): Promise<string> => {
  const options = { cwd: NODE_PROGRAMS.module, env: { ...process.env, GOFLAGS: '-mod=readonly' } }
  await run('go', ['mod', 'download', KIND], options)
  const { stdout } = await run('go', ['list', '-m', '-f', '{{.Dir}}', KIND], options)
  return stdout.trim()
}

/** Lays the files of kind's base image into a root file system, with the modes that its Dockerfile gives them. */
export const layBaseFiles = async (kind: string, root: string): Promise<void> => {
  const files = join(kind, 'images/base/files')
  for (const path of await readdir(files, { recursive: true, withFileTypes: true })) {
    if (!path.isFile()) continue
    const inside = path.parentPath.slice(files.length)
    const target = join(root, inside, path.name)
    await cp(join(path.parentPath, path.name), target, { recursive: true })
    await chmod(target, inside.endsWith('/bin') ? 0o755 : 0o644)
  }
}

/** The manifest of kind's storage class, from the sources that have it as text. */
export const storageManifest = async (kind: string): Promise<string> =>
  storageManifestIn(await readFile(join(kind, 'pkg/build/nodeimage/const_storage.go'), 'utf8'))

/** @param source Go, in which the manifest is one text in backquotes with the names of images between */
export const storageManifestIn = (source: string): string => {
  const images = Object.fromEntries(
    [...source.matchAll(/const (\w+) = "([^"]+)"/g)].map(([, name, value]) => [name, value]),
  )
  const [, text] = /const defaultStorageManifest = `([\s\S]*)`\s*$/.exec(source) ?? []
  if (text === undefined) throw new Error('kind keeps the manifest of its storage class elsewhere now')
  return text.replaceAll(/` \+ (\w+) \+ `/g, (_, name: string) => images[name] ?? '').trimStart()
}

/** The images that a manifest names. */
export const imagesIn = (manifest: string): readonly string[] => [
  ...new Set([...manifest.matchAll(/(?:image: |- )(docker\.io\/\S+)/g)].map(([, image]) => image as string)),
]
