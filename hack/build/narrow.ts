import { join } from 'node:path'
import type { Plugin } from 'esbuild'

interface Narrowing {
  /** The module as it is imported. */
  readonly specifier: string
  /** Only when imported from a path that ends so; anywhere when undefined. */
  readonly importer?: string
  /** File under narrow/ that stands in. */
  readonly instead: string
}

/** Modules of which the product uses a corner, and the module of ours that holds this corner. */
const NARROWINGS: readonly Narrowing[] = [
  { specifier: 'undici', instead: 'undici.ts' },
  {
    specifier: './gen/index.js',
    importer: '/@kubernetes/client-node/dist/config.js',
    instead: 'client-node-generated.ts',
  },
]

/**
 * esbuild plugin that puts the narrow modules in place of the wide ones. A name that the narrow one lacks fails the build, so
 * nothing is lost in silence.
 */
export const narrow: Plugin = {
  name: 'narrow',
  setup(build) {
    build.onResolve(
      { filter: new RegExp(`^(${NARROWINGS.map(({ specifier }) => specifier).join('|')})$`) },
      (request) => {
        const narrowing = NARROWINGS.find(
          ({ specifier, importer = '' }) => specifier === request.path && request.importer.endsWith(importer),
        )
        return narrowing === undefined ? undefined : { path: join(import.meta.dirname, 'narrow', narrowing.instead) }
      },
    )
  },
}
