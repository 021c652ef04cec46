/** The files that pages load, all of them from here: nothing comes from elsewhere. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const TYPES = {
  'style.css': 'text/css; charset=utf-8',
  'keys.js': 'text/javascript; charset=utf-8',
  'htmx.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

export type Asset = keyof typeof TYPES

export const ASSETS = Object.keys(TYPES) as readonly Asset[]

/** Of a checkout; hack/build/bundle.ts writes them into one folder. */
export const readAsset = async (name: Asset): Promise<Buffer> => {
  if (name !== 'htmx.js') return readFile(join(import.meta.dirname, 'assets', name))
  // One file: htmx looks at the page soon after it was loaded, and what knows of streams must be there by then.
  const folder = dirname(createRequire(import.meta.url).resolve('htmx.org'))
  const parts = ['htmx.min.js', 'ext/hx-sse.min.js'].map((part) => readFile(join(folder, part), 'utf8'))
  const texts = (await Promise.all(parts)).map((text) => text.replace(/^\/\/# sourceMappingURL=.*$/m, ''))
  return Buffer.from(texts.join('\n;\n'))
}

export interface LoadedAsset {
  readonly type: string
  readonly body: Buffer
  /** With the digest of its bytes, so that browsers may keep it for good. */
  readonly path: string
}

/** @param folder That holds all of them by their names; a checkout's when undefined. */
export const loadAssets = async (folder: string | undefined): Promise<Readonly<Record<Asset, LoadedAsset>>> => {
  const entries = ASSETS.map(async (name) => {
    const body = folder === undefined ? await readAsset(name) : await readFile(join(folder, name))
    const digest = createHash('sha256').update(body).digest('base64url').slice(0, 16)
    return [name, { type: TYPES[name], body, path: `/assets/${digest}/${name}` }] as const
  })
  return Object.fromEntries(await Promise.all(entries)) as Record<Asset, LoadedAsset>
}
