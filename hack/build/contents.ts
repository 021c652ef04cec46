import { readFile, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Metafile } from 'esbuild'

/** A package of which something is in the bundle, or on which it runs. */
export interface Package {
  readonly name: string
  readonly version: string
  /** SPDX expression. */
  readonly licence: string
  /** Where it is installed. */
  readonly folder: string
}

/** Names that packages give their licence, and SPDX's. */
const SPDX: Readonly<Record<string, string>> = { 'BSD-0-Clause': '0BSD' }

/** Of the dashboard's files, which are copied and not bundled: services/dashboard/assets.ts. */
const COPIED = ['node_modules/htmx.org']

const PACKAGE = /^.*?node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/

/**
 * The packages whose code is in the bundle, each version once, by name. A package that was read and left out whole is none of them.
 * @param root The checkout, where esbuild ran.
 */
export const bundledPackages = async ({ outputs }: Metafile, root: string): Promise<readonly Package[]> => {
  const sources = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  )
  const folders = new Set([...COPIED, ...sources.flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])])
  const packages = await Promise.all([...folders].map((folder) => packageIn(join(root, folder))))
  return [...new Map(packages.map((each) => [`${each.name}@${each.version}`, each])).values()].toSorted(
    (a, b) => a.name.localeCompare(b.name, 'en') || a.version.localeCompare(b.version, 'en'),
  )
}

/** The package that this Node.js came with; undefined when it is the machine's own (docs/decisions/node-by-npm.md). */
export const runtimePackage = async (program = process.execPath): Promise<Package | undefined> => {
  const path = await realpath(program)
  const folder = path.slice(0, path.lastIndexOf(`${sep}bin${sep}`))
  return folder.includes(`${sep}node_modules${sep}`) ? packageIn(folder) : undefined
}

const packageIn = async (folder: string): Promise<Package> => {
  const about = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license?: string
  }
  const { name, version, license } = about
  if (license === undefined)
    throw new Error(`${name}@${version} says no licence: leave it out, or name its licence in SPDX`)
  return { name, version, licence: SPDX[license] ?? license, folder }
}
