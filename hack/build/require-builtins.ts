import { createRequire, isBuiltin } from 'node:module'
import { relative } from 'node:path'
import type { Plugin } from 'esbuild'

const require = createRequire(import.meta.url)
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

/**
 * esbuild plugin that reads of Node's own modules what is used.
 *
 * An imported built-in module is read whole to give its exports names, and so is one whose exports esbuild copies; either loads what a
 * module has for those that ask: `node:http` Node's copy of undici for its WebSocket, `node:process` the REPL for its features.
 */
export const requireBuiltins: Plugin = {
  name: 'require-builtins',
  setup(build) {
    const { absWorkingDir = process.cwd() } = build.initialOptions
    build.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, kind, importer }) => {
      if (!isBuiltin(path)) return undefined
      const name = path.startsWith('node:') ? path : `node:${path}`
      if (kind !== 'import-statement') return { path: name, namespace: 'required-builtin' }
      // One for each file that imports it: what another file uses is not read here.
      // Told apart by names that are no paths, for the bill of materials goes by the paths of files.
      const suffix = `?${relative(absWorkingDir, importer).replaceAll('/', '|')}`
      return { path: name, namespace: 'imported-builtin', suffix }
    })
    build.onLoad({ filter: /.*/, namespace: 'required-builtin' }, ({ path }) => ({
      contents: `module.exports = ${builtin(path)}`,
    }))
    // What has no effect and no use is left out.
    build.onLoad({ filter: /.*/, namespace: 'imported-builtin' }, ({ path }) => ({
      contents: [
        `const builtin = /* @__PURE__ */ ${builtin(path)}`,
        'export default builtin',
        ...namesOf(path).map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})()`),
      ].join('\n'),
    }))
  },
}

const builtin = (path: string): string => `process.getBuiltinModule(${JSON.stringify(path)})`

const namesOf = (path: string): readonly string[] =>
  Object.keys(require(path) as object).filter((name) => IDENTIFIER.test(name) && name !== 'default')
