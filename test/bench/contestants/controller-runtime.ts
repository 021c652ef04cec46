import { join } from 'node:path'
import { built, tool } from './built.ts'
import type { Contestant } from './contestant.ts'

const SOURCES = join(import.meta.dirname, '../peers/controller-runtime')
const MODULE = 'sigs.k8s.io/controller-runtime'

/** Go's controller-runtime, built from Go modules. @throws when Go is missing or can't build it. */
export const controllerRuntime = async (): Promise<Contestant> => {
  const folder = await built('controller-runtime', SOURCES, async (draft) => {
    await tool('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', join(draft, 'gadget'), '.'], {
      cwd: SOURCES,
      env: { CGO_ENABLED: '0' },
    })
  })
  const version = await tool('go', ['list', '-m', '-f', '{{.Version}}', MODULE], { cwd: SOURCES })
  return {
    id: 'controller-runtime',
    name: `controller-runtime ${version}`,
    modes: ['serve', 'cache-whole', 'cache-projected'],
    command: join(folder, 'gadget'),
    args: [],
  }
}
