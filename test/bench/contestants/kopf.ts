import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { built, tool } from './built.ts'
import type { Contestant } from './contestant.ts'

const SOURCES = join(import.meta.dirname, '../peers/kopf')

/** Python's kopf, in a virtual environment of its own. @throws when Python or the package index is missing. */
export const kopf = async (): Promise<Contestant> => {
  const requirements = join(SOURCES, 'requirements.txt')
  const folder = await built('kopf', SOURCES, async (draft) => {
    await tool('python3', ['-m', 'venv', draft])
    await tool(join(draft, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '--requirement', requirements])
  })
  const version = /^kopf==(.+)$/m.exec(readFileSync(requirements, 'utf8'))?.[1]
  return {
    id: 'kopf',
    name: `kopf ${version}`,
    modes: ['serve'],
    command: join(folder, 'bin', 'python'),
    args: ['-m', 'kopf', 'run', '--quiet', '--standalone', '--all-namespaces', join(SOURCES, 'gadget.py')],
  }
}
