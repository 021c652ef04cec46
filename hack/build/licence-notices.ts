import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Package } from './contents.ts'

const LICENCE = /^(licen[cs]e|copying|notice)/i
const README = /^readme(\.|$)/i
/** The heading over what some packages say only in their readme. */
const HEADING = /^licen[cs]e.*/i

/**
 * The licences of packages with their texts, which most of them want to go with copies; packages of one text stand together.
 * @throws when a package has no text
 */
export const notices = async (packages: readonly Package[]): Promise<string> => {
  const texts = await Promise.all(packages.map(async (each) => ({ each, text: await licenceText(each) })))
  const groups = Map.groupBy(texts, ({ text }) => text)
  const sections = [...groups].map(([text, members]) => {
    const heads = members.map(({ each: { name, version, licence } }) => `${name} ${version} (${licence})`)
    return `${heads.join('\n')}\n\n${text}\n`
  })
  return ['Muster holds code of these packages.\n', ...sections].join(`\n${'-'.repeat(80)}\n\n`)
}

const licenceText = async ({ name, version, licence, folder }: Package): Promise<string> => {
  const files = (await readdir(folder)).toSorted()
  const read = async (names: readonly string[]) =>
    (await Promise.all(names.map((file) => readFile(join(folder, file), 'utf8')))).map((text) => text.trim())
  const own = await read(files.filter((file) => LICENCE.test(file)))
  if (own.length > 0) return own.join('\n\n')
  for (const text of await read(files.filter((file) => README.test(file)))) {
    const section = text.split(/^#+ */m).find((part) => HEADING.test(part))
    if (section !== undefined) return section.replace(HEADING, '').trim()
  }
  throw new Error(`${name}@${version} (${licence}) has no text of its licence: it can't be shipped without one`)
}
