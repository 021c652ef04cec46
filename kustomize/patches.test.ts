import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'

interface Patch {
  readonly $patch?: string
}

/** Files with a patch that deletes an object, by path from here. */
const deleting = globSync('**/*.yaml', { cwd: import.meta.dirname }).flatMap((path) => {
  const patches = loadAll(readFileSync(join(import.meta.dirname, path), 'utf8')) as (Patch | null)[]
  return patches.some((patch) => patch?.$patch === 'delete') ? [{ path, patches: patches.length }] : []
})

describe('a patch that deletes an object', () => {
  test('stands alone in its file, because the kustomize in kubectl 1.32 panics at the next one', () => {
    expect(deleting).toContainEqual({ path: 'overlays/dev/no-managers.yaml', patches: 1 })
    expect(deleting.filter(({ patches }) => patches > 1)).toEqual([])
  })
})
