import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuildInfo } from '#cmd/build-info.ts'
import { billOf, lockedBill } from './bill.ts'
import { type Bundle, bundle } from './bundle.ts'
import { bundledPackages, runtimePackage } from './contents.ts'
import { notices } from './licence-notices.ts'

const root = join(import.meta.dirname, '../..')

/** Names in the folder, beside muster.mjs. */
export const BILL = 'sbom.cdx.json'
export const NOTICES = 'THIRD-PARTY-NOTICES.txt'

/** Bundles the program with its papers: what it is made of (CycloneDX), and the licences of that. */
export const ship = async (folder: string, info?: BuildInfo): Promise<Bundle> => {
  const built = await bundle(folder, info)
  const packages = await bundledPackages(built.metafile, root)
  const runtime = await runtimePackage()
  const bill = billOf(await lockedBill(root), { info: built.info, packages, runtime })
  await writeFile(join(folder, BILL), `${JSON.stringify(bill, undefined, 2)}\n`)
  await writeFile(join(folder, NOTICES), await notices([...packages, ...(runtime === undefined ? [] : [runtime])]))
  return built
}
