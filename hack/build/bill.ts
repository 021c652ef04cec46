import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { BuildInfo } from '#cmd/build-info.ts'
import type { Package } from './contents.ts'

const run = promisify(execFile)

/** A bill of materials, CycloneDX 1.5: what of it we read and write. */
export interface Bill {
  readonly bomFormat: 'CycloneDX'
  readonly specVersion: string
  readonly serialNumber: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

export interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[]
  readonly licenses?: readonly object[]
}

export interface Contents {
  readonly info: BuildInfo
  readonly packages: readonly Package[]
  /** Undefined when the bundle runs with the Node.js of its machine. */
  readonly runtime: Package | undefined
}

/** npm's bill of everything that is locked, the tools too, with the digests of package-lock.json. @throws when npm fails */
export const lockedBill = async (root: string): Promise<Bill> => {
  const args = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--loglevel=error', '--no-update-notifier']
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  return JSON.parse(stdout) as Bill
}

/**
 * The bill of what is shipped: of all that is locked, the packages that the bundle holds and the Node.js that runs it.
 * The same source gives the same bytes, so its number comes from its contents and its time is the commit's.
 * @throws when something is shipped that isn't locked
 */
export const billOf = (locked: Bill, { info, packages, runtime }: Contents): Bill => {
  const byName = new Map(locked.components.map((component) => [`${component.name}@${component.version}`, component]))
  const component = (type: string, { name, version, licence }: Package): Component => {
    const found = byName.get(`${name}@${version}`)
    if (found === undefined)
      throw new Error(`${name}@${version} is in the bundle and not in package-lock.json: run "npm ci"`)
    return { ...found, type, licenses: [{ expression: licence }] }
  }
  const components = [
    ...packages.map((each) => component('library', each)),
    ...(runtime === undefined ? [] : [component('platform', runtime)]),
  ]
  const own = { 'bom-ref': `muster@${info.version}`, name: 'muster', version: info.version }
  const shipped = new Set([own['bom-ref'], ...components.map((each) => each['bom-ref'])])
  return {
    ...locked,
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([info, components]))}`,
    metadata: {
      ...(info.time === 'unknown' ? {} : { timestamp: info.time }),
      lifecycles: [{ phase: 'build' }],
      component: {
        ...own,
        type: 'application',
        purl: `pkg:npm/muster@${info.version}`,
        licenses: [{ expression: 'Apache-2.0' }],
        properties: [{ name: 'muster:commit', value: info.commit }],
      },
    },
    components,
    dependencies: locked.dependencies.flatMap(({ ref, dependsOn }) =>
      shipped.has(ref) ? [{ ref, dependsOn: dependsOn.filter((each) => shipped.has(each)) }] : [],
    ),
  }
}

/** A UUID of version 8 (RFC 9562), from a digest. */
const uuidOf = (text: string): string => {
  const digest = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(digest.charAt(16), 16) & 0b0011) | 0b1000).toString(16)
  const parts = [
    digest.slice(0, 8),
    digest.slice(8, 12),
    `8${digest.slice(13, 16)}`,
    `${variant}${digest.slice(17, 20)}`,
  ]
  return [...parts, digest.slice(20, 32)].join('-')
}
