import type { Plugin } from 'esbuild'

/**
 * Packages whose modules only define things, though their package.json doesn't say so. Told that, esbuild drops what is not used:
 * of @kubernetes/client-node that is a thousand generated models behind the kubeconfig, of typebox everything but the types.
 */
const PACKAGES = ['@kubernetes/client-node', 'typebox']

const FILTER = new RegExp(`^(${PACKAGES.join('|')})(/|$)|^\\.{1,2}/`)
const WITHIN = new RegExp(`/node_modules/(${PACKAGES.join('|')})/`)

/**
 * esbuild plugin that marks those packages as free of side effects.
 *
 * All else esbuild resolves itself: of what a plugin resolves it forgets that its package.json says "type": "module", and a file
 * imported both ways would be bundled as the first importer had it.
 */
export const sideEffectFree: Plugin = {
  name: 'side-effect-free',
  setup(build) {
    build.onResolve({ filter: FILTER }, async ({ path, pluginData, ...from }) => {
      if (pluginData === sideEffectFree) return undefined
      const resolved = await build.resolve(path, { ...from, pluginData: sideEffectFree })
      return WITHIN.test(resolved.path) ? { ...resolved, sideEffects: false } : undefined
    })
  },
}
