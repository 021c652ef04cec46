import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Failure, UsageError } from '../failure.ts'
import { render } from './render.ts'

const folder = await mkdtemp(join(tmpdir(), 'muster-render-'))
afterAll(() => rm(folder, { recursive: true }))

const file = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const installConfig = await file('install-config.yaml', 'metadata: {name: any}\nversion: 4.20\n')

const customization = (name: string, path = '/metadata/name') => `
kind: ClusterDeploymentCustomization
metadata: {name: ${name}}
spec:
  installConfigPatches:
    - {op: replace, path: ${path}, value: ${name}}
`

test('one install-config for each customization of a file', async () => {
  const two = await file('two.yaml', `${customization('foo', 'metadata/name')}---${customization('bar')}`)
  expect(await render(installConfig, [two])).toEqual({
    documents: ["metadata:\n  name: foo\nversion: '4.20'\n", "metadata:\n  name: bar\nversion: '4.20'\n"],
    notices: ['foo: installConfigPatches: path metadata/name is taken for /metadata/name: begin it with a slash'],
  })
})

test('several files, and lists as kubectl prints them', async () => {
  const one = await file('one.yaml', customization('foo'))
  const item = customization('bar').trim().replaceAll('\n', '\n    ')
  const list = await file('list.yaml', `kind: List\nitems:\n  - ${item}\n`)
  const { documents } = await render(installConfig, [one, list])
  expect(documents.map((document) => /name: (\w+)/.exec(document)?.[1])).toEqual(['foo', 'bar'])
})

test('an operation that can’t be applied is named', async () => {
  const broken = await file('broken.yaml', customization('foo', '/metadata/nope'))
  await expect(render(installConfig, [broken])).rejects.toThrow(
    new Failure('foo: installConfigPatches: operation 0 (replace /metadata/nope): /metadata/nope does not exist'),
  )
})

// GITOPS-58
describe('a file that can’t be meant', () => {
  test.each([
    [
      'another kind',
      'kind: Secret\nmetadata: {name: a}\n',
      'object 1 is no ClusterDeploymentCustomization, it is a Secret',
    ],
    ['nothing in it', '\n', 'holds no ClusterDeploymentCustomization'],
    ['no kind', 'apiVersion: v1\n', 'object 1 is no ClusterDeploymentCustomization'],
    ['no name', 'kind: ClusterDeploymentCustomization\n', 'object 1 has no metadata.name'],
    [
      'no list of operations',
      'kind: ClusterDeploymentCustomization\nmetadata: {name: a}\nspec: {installConfigPatches: x}\n',
      'a: spec.installConfigPatches must be a list of operations',
    ],
    [
      'a field that there is not',
      'kind: ClusterDeploymentCustomization\nmetadata: {name: a}\nspec: {installConfigPatchs: []}\n',
      'a: spec.installConfigPatchs: a ClusterDeploymentCustomization has no such field',
    ],
    [
      'a path that leads to no field of a spec',
      'kind: ClusterDeploymentCustomization\nmetadata: {name: a}\nspec: {clusterDeploymentSpecPatches: [{op: add, path: /instalAttemptsLimit, value: 5}]}\n',
      'a: clusterDeploymentSpecPatches: operation 0 (/instalAttemptsLimit): the spec of a ClusterDeployment has no such field',
    ],
  ])('%s', async (_what, text, said) => {
    const wrong = await file('wrong.yaml', text)
    await expect(render(installConfig, [wrong])).rejects.toThrow(new UsageError(`--customization: ${wrong}: ${said}`))
  })

  test('no YAML', async () => {
    const wrong = await file('wrong.yaml', 'a: {b')
    await expect(render(installConfig, [wrong])).rejects.toThrow(
      new UsageError(
        `--customization: ${wrong} is no YAML: unexpected end of the stream within a flow collection (1:6)`,
      ),
    )
  })

  test('one that is not there', async () => {
    const none = join(folder, 'none.yaml')
    await expect(render(none, [])).rejects.toThrow(new UsageError(`--install-config: ${none} can’t be read (ENOENT)`))
  })

  test('an install-config that is a list', async () => {
    const list = await file('list.yaml', '- a\n')
    await expect(render(list, [])).rejects.toThrow(/--install-config: .* must be a YAML mapping/)
  })
})
