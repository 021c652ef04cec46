/**
 * The runtime as a package for programs of others: Node.js strips no types in node_modules, so it gets JavaScript and declarations, and
 * depends only on what the runtime itself imports.
 */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { promisify } from 'node:util'
import { build, type Metafile } from 'esbuild'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** Declarations stand in a tree as the sources do; only these folders are in it. */
const IMPORTED_FILE = /(['"])(#lib\/|\.{1,2}\/)([^'"]+)\.ts\1/g

/** A package's name in an import: "undici", "@peculiar/x509". */
const packageOf = (path: string): string => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path

/**
 * Writes the package into a folder.
 * @param folder Absolute; what is in it is removed first.
 */
const writeRuntimePackage = async (folder: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { 'operator/index': 'operator/index.ts' },
    outdir: folder,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node24',
    keepNames: true,
    metafile: true,
    logLevel: 'warning',
  })
  const declared = await writeDeclarations(folder)
  await writeFile(
    join(folder, 'package.json'),
    `${JSON.stringify(await manifest([...importsOf(metafile), ...declared]), undefined, 2)}\n`,
  )
}

/** What the checkout's own imports say is written as paths between files, which every program can follow. @returns imported packages */
const writeDeclarations = async (folder: string): Promise<readonly string[]> => {
  const imported: string[] = []
  const tsc = join(root, 'node_modules/.bin/tsc')
  await run(tsc, ['--project', join(import.meta.dirname, 'tsconfig.json'), '--outDir', folder])
  for (const file of globSync('{operator,lib}/**/*.d.ts', { cwd: folder })) {
    const toPath = (_: string, quote: string, start: string, path: string) => {
      const target = start === '#lib/' ? join('lib', path) : resolve('/', dirname(file), start, path).slice(1)
      const relativePath = relative(dirname(file), target).replaceAll(sep, '/')
      return `${quote}${relativePath.startsWith('.') ? '' : './'}${relativePath}.js${quote}`
    }
    const text = await readFile(join(folder, file), 'utf8')
    await writeFile(join(folder, file), text.replaceAll(IMPORTED_FILE, toPath))
    imported.push(...[...text.matchAll(/ from '([^.#'][^']*)'/g)].map(([, path = '']) => path))
  }
  return imported
}

const importsOf = ({ outputs }: Metafile): readonly string[] =>
  Object.values(outputs).flatMap(({ imports }) => imports.map(({ path }) => path))

/** The checkout's package.json as far as it is about the runtime. */
const manifest = async (imported: readonly string[]): Promise<object> => {
  const { name, version, license, type, dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const needed = [...new Set(imported.filter((path) => !path.startsWith('node:')).map(packageOf))].toSorted()
  const missing = needed.filter((one) => dependencies[one] === undefined)
  if (missing.length > 0)
    throw new Error(`package.json has no dependency ${missing.join(', ')}, which operator/ imports`)
  return {
    name,
    version,
    description: 'The handler runtime of Muster: Kubernetes controllers in TypeScript.',
    license,
    type,
    engines: { node: '>=24' },
    exports: { './operator': { types: './operator/index.d.ts', default: './operator/index.js' } },
    dependencies: Object.fromEntries(needed.map((one) => [one, dependencies[one]])),
  }
}

/** Makes the package's archive. @param folder Absolute; the archive comes into it, beside `runtime/`. @returns its path */
export const packRuntime = async (folder: string): Promise<string> => {
  const source = join(folder, 'runtime')
  await writeRuntimePackage(source)
  const { stdout } = await run('npm', ['pack', source, '--json', '--pack-destination', folder], { cwd: folder })
  const [{ filename }] = JSON.parse(stdout)
  return join(folder, filename)
}
