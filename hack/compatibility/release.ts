/**
 * `npm run release:crds` makes the CustomResourceDefinitions of now the released ones, which later changes are compared with.
 * It belongs to the commit that a release is tagged at.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { describeBreak } from './break.ts'
import { breaks } from './definition.ts'
import { ACCEPTED, accepted, definitionsIn, RELEASED } from './released.ts'

new Command('npm run release:crds')
  .description('Makes the CustomResourceDefinitions of now the released ones, which later changes are compared with.')
  .allowExcessArguments(false)
  .parse()

const root = join(import.meta.dirname, '../..')
const PRESENT = 'manifests/crds'

const open = breaks(definitionsIn(RELEASED), definitionsIn(PRESENT)).filter(
  ({ where, what }) => accepted()[`${where}: ${what}`] === undefined,
)
if (open.length > 0) {
  for (const found of open) console.error(describeBreak(found))
  console.error(`A release may not break what runs: correct it, or write the reason into ${ACCEPTED}.`)
  process.exit(1)
}
const [head = ''] = readFileSync(join(root, ACCEPTED), 'utf8').split(/^(?!#)/m)
rmSync(join(root, RELEASED), { recursive: true, force: true })
cpSync(join(root, PRESENT), join(root, RELEASED), { recursive: true })
writeFileSync(join(root, ACCEPTED), `${head}{}\n`)
console.log(`${RELEASED} holds what ${PRESENT} holds.`)
