/**
 * What kustomize makes of each overlay, shard and sample, beside what it made of it last: a change of a component shows where it arrives.
 * To take the new builds: npm exec -- vitest run --update=true --project integration test/integration/delivery/golden.test.ts
 */
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump, loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import { kubectl, kustomizations } from './kustomize.ts'
import type { Manifest } from './rules/manifest.ts'

const GOLDEN = join(import.meta.dirname, 'golden')

const folders = kustomizations().filter((folder) =>
  /^kustomize\/(base|overlays|samples|shards\/[^/]+)(\/|$)/.test(folder),
)
const delivered = folders.filter((folder) => !/\/(base\/.+|config)$/.test(folder))

/** kustomize/overlays/prod → overlays-prod.yaml */
const fileOf = (folder: string): string => `${folder.split('/').slice(1).join('-')}.yaml`

/** Of a kind only what the overlay says of it: the rest is in manifests/crds, and would fill every one of these files. */
const shown = (object: Manifest): object =>
  object.kind === 'CustomResourceDefinition' ? { kind: object.kind, metadata: object.metadata } : object

test.each(delivered)('%s is built as it was, or the change is meant', async (folder) => {
  const { stdout } = await kubectl('kustomize', folder)
  const objects = (loadAll(stdout) as Manifest[]).map((object) => dump(shown(object), { lineWidth: -1, noRefs: true }))
  await expect(objects.join('---\n')).toMatchFileSnapshot(join(GOLDEN, fileOf(folder)))
})

test('there is no build of what is gone', () => {
  const files = delivered.map(fileOf)
  expect(globSync('*.yaml', { cwd: GOLDEN }).filter((file) => !files.includes(file))).toEqual([])
})

/** Components that no overlay has, for each environment to add: built by test/integration/security/api-admin.test.ts. */
const BUILT_ELSEWHERE: readonly string[] = ['api-admin']

test('every component is part of an overlay, so each is seen in a build', async () => {
  const components = globSync('kustomize/components/*/kustomization.yaml').map((file) => file.split('/')[2])
  const texts = await Promise.all(
    globSync('kustomize/{overlays,components}/*/kustomization.yaml').map((file) => readFile(file, 'utf8')),
  )
  const inOverlays = texts.flatMap((text) =>
    [...text.matchAll(/- (?:\.\.\/)+(?:components\/)?([a-z-]+)$/gm)].map(([, name]) => name),
  )
  const used = [...inOverlays, ...BUILT_ELSEWHERE]
  expect(components.filter((component) => !used.includes(component))).toEqual([])
})
