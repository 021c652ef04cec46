import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { expect, test } from 'vitest'
import { sharedControlPlane } from '#test/harness/index.ts'

const folder = join(import.meta.dirname, '../../../manifests/crds')

interface Definition {
  readonly metadata: { readonly name: string }
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[]
  }
}

test('the API server finds nothing to complain about in the generated CRDs', async () => {
  const cluster = await sharedControlPlane()
  const files = globSync('*.yaml', { cwd: folder })
  expect(files).not.toHaveLength(0)
  for (const file of files) {
    const { metadata } = load(await readFile(join(folder, file), 'utf8')) as Definition
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`
    const { status } = await cluster.rest<Definition>('GET', path)
    const state = Object.fromEntries(status.conditions.map(({ type, status: holds }) => [type, holds]))
    // A schema that isn't structural, or a rule that doesn't compile, would add NonStructuralSchema or fail the apply.
    expect(state, file).toEqual({ NamesAccepted: 'True', Established: 'True' })
  }
})
