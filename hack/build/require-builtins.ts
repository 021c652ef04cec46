import { isBuiltin } from 'node:module'
import type { Plugin } from 'esbuild'

/**
 * esbuild plugin that loads Node's own modules with require() instead of import.
 *
 * An imported built-in module is read whole to give its exports names, getters included: `node:http` then loads Node's copy of undici
 * for its WebSocket, `node:process` the REPL for its features. A required one is read where it is used.
 */
export const requireBuiltins: Plugin = {
  name: 'require-builtins',
  setup(build) {
    build.onResolve({ filter: /^[a-z_:/]+$/ }, ({ path, namespace }) => {
      if (!isBuiltin(path)) return undefined
      const name = path.startsWith('node:') ? path : `node:${path}`
      return namespace === 'builtin' ? { path: name, external: true } : { path: name, namespace: 'builtin' }
    })
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}
