import { globSync } from 'node:fs'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { type BuildInfo, checkoutInfo } from '#cmd/build-info.ts'
import { REFERENCE_FILES, REFERENCE_FOLDER } from '#cmd/security/reference.ts'
import { ASSETS, readAsset } from '#services/dashboard/assets.ts'
import { narrow } from './narrow.ts'
import { requireBuiltins } from './require-builtins.ts'
import { sideEffectFree } from './side-effect-free.ts'

const root = join(import.meta.dirname, '../..')

/** Bundled CommonJS packages call require(), which ES modules don't have. */
const REQUIRE = `import { createRequire as musterRequire } from 'node:module'; const require = musterRequire(import.meta.url);`

/** How everything that ships is bundled; the benches bundle their operator the same way. */
export const SHIPPED = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: false,
  // Names of chunks come from their sources' paths: a checkout whose node_modules is a link builds the same as any other.
  preserveSymlinks: true,
  logLevel: 'warning',
  banner: { js: REQUIRE },
  plugins: [narrow, requireBuiltins, sideEffectFree],
  // Optional and native: pg falls back to its own protocol code.
  external: ['pg-native'],
} satisfies BuildOptions

const MAIN = 'cmd/main.ts'

/** Leaves the program itself out of the file that begins. */
const mainApart: Plugin = {
  name: 'main-apart',
  setup(build) {
    build.onResolve({ filter: /\/main\.ts$/ }, () => ({ path: './main.mjs', external: true }))
  },
}

export interface Bundle {
  /** What `muster version` will say. */
  readonly info: BuildInfo
  /** Which source went into which file; esbuild's. */
  readonly metafile: Metafile
}

/**
 * Bundles the program into `<folder>/muster.mjs` and one chunk for each command and controller, with the CRDs and the dashboard's files beside it.
 * @param folder Absolute; what is in it is removed first.
 * @param info Given by a build outside of a repository, as the Dockerfile's.
 */
export const bundle = async (folder: string, info: BuildInfo = checkoutInfo(root)): Promise<Bundle> => {
  await rm(folder, { recursive: true, force: true })
  const files = { ...SHIPPED, outdir: folder, outExtension: { '.js': '.mjs' }, metafile: true } satisfies BuildOptions
  // By itself, so that it imports no chunk: it settles how V8 works before another file is loaded.
  const first = await build({ ...files, entryPoints: { muster: 'cmd/muster.ts' }, plugins: [mainApart] })
  const rest = await build({
    ...files,
    entryPoints: { main: MAIN },
    chunkNames: '[name]-[hash]',
    splitting: true,
    define: { 'globalThis.MUSTER_BUILD': JSON.stringify(JSON.stringify(info)) },
  })
  const metafile = {
    inputs: { ...first.metafile.inputs, ...rest.metafile.inputs },
    outputs: { ...first.metafile.outputs, ...rest.metafile.outputs },
  }
  await cp(join(root, 'manifests/crds'), join(folder, 'crds'), { recursive: true })
  for (const file of globSync([...REFERENCE_FILES], { cwd: root }))
    await cp(join(root, file), join(folder, REFERENCE_FOLDER, file))
  await mkdir(join(folder, 'dashboard'))
  for (const name of ASSETS) await writeFile(join(folder, 'dashboard', name), await readAsset(name))
  return { info, metafile }
}
