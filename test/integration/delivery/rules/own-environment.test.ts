/** An environment of one's own, as the pages write it: held to the rules that ours are held to. */
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { commandsBelow, REPOSITORY, readPage } from '../../docs/page.ts'
import { kubectl } from '../kustomize.ts'
import { requiredIsDone } from './adapters.ts'
import type { Manifest } from './manifest.ts'
import { OVERLAY_RULES, PRODUCTION_RULES } from './rules.ts'

const PRODUCTION = await readPage('docs/install-production.md')
const DECLARE = await readPage('docs/gitops-declare.md')

/** What asks a server, or Git. */
const ELSEWHERE = /^(kubectl|git|npm|grep) /

/** A copy of the configuration in which the commands below these headings were run, but for those that ask a server or Git. */
const configurationAfter = async (...sections: readonly (readonly [typeof DECLARE, string])[]): Promise<string> => {
  const folder = await temporaryFolder('environment')
  for (const part of ['kustomize', 'manifests'])
    await cp(join(REPOSITORY, part), join(folder, part), { recursive: true })
  const commands = sections
    .flatMap(([page, heading]) => commandsBelow(page, heading))
    .flatMap((block) => block.split('\n'))
    .filter((line) => !ELSEWHERE.test(line))
  await promisify(execFile)('bash', ['-euc', commands.join('\n')], { cwd: folder })
  return join(folder, 'kustomize')
}

const build = async (folder: string): Promise<readonly Manifest[]> =>
  loadAll((await kubectl('kustomize', folder)).stdout) as Manifest[]

// Journey 1
describe.each([
  ['callers and a database alone', ['5. An overlay of your own']],
  ['devices from elsewhere as well', ['5. An overlay of your own', '6. Devices from elsewhere']],
])('GITOPS-45: the documented environment with %s', async (_, headings) => {
  const folder = await configurationAfter(...headings.map((heading) => [PRODUCTION, heading] as const))
  const objects = await build(join(folder, 'overlays/lyon'))

  test.each(Object.entries({ ...OVERLAY_RULES, ...PRODUCTION_RULES }))('%s', (_, rule) => {
    expect(rule(objects)).toEqual([])
  })

  test('it has the adapters that it requires', () => {
    expect(requiredIsDone(objects)).toEqual([])
  })
})

/** What refers to the samples, which are ours to change: `folder/kustomization.yaml: ../../../samples/x`. */
const pointsAtSamples = async (kustomize: string): Promise<readonly string[]> => {
  const files = globSync('{tasks,declared,overlays}/*/**/kustomization.yaml', { cwd: kustomize })
  const found = await Promise.all(
    files
      // Developers look at the samples there.
      .filter((file) => file.split('/')[1] !== 'dev')
      .map(async (file) => {
        const text = await readFile(join(kustomize, file), 'utf8')
        return [...text.matchAll(/\S*\/samples\/\S*/g)].map(([path]) => `${file}: ${path}`)
      }),
  )
  return found.flat()
}

// Journey 2
describe('GITOPS-46: no environment but dev points at samples', () => {
  test('not those that are delivered', async () => {
    expect(await pointsAtSamples(join(REPOSITORY, 'kustomize'))).toEqual([])
  })

  test('not what the page declares for one, and that builds and fits what it requires', async () => {
    const folder = await configurationAfter([DECLARE, 'Adapter tasks first'], [DECLARE, 'Pools, claims and programs'])
    expect(await pointsAtSamples(folder)).toEqual([])
    const declared = globSync('{tasks,declared}/stage/*', { cwd: folder })
    expect(declared.toSorted()).toEqual(['declared/stage/pool-edge', 'tasks/stage/cluster-config'])
    const objects = await Promise.all(['overlays/stage', ...declared].map((one) => build(join(folder, one))))
    expect(requiredIsDone(objects.flat())).toEqual([])
  })
})
