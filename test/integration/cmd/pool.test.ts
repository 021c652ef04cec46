import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { muster } from './run.ts'

const folder = await mkdtemp(join(tmpdir(), 'muster-pool-'))

test('muster pool render prints install-configs, or the operation that can’t be applied', async () => {
  const [installConfig, customization] = [join(folder, 'install-config.yaml'), join(folder, 'foo.yaml')]
  await writeFile(installConfig, 'metadata: {name: any}\nversion: 4.20\n')
  const args = ['pool', 'render', '--install-config', installConfig, '--customization', customization]
  const write = (path: string) =>
    writeFile(
      customization,
      `kind: ClusterDeploymentCustomization
metadata: {name: foo}
spec:
  installConfigPatches:
    - {op: replace, path: ${path}, value: foo}
`,
    )
  await write('/metadata/name')
  expect(await muster(args)).toMatchInlineSnapshot(`
    {
      "code": 0,
      "output": "metadata:
      name: foo
    version: '4.20'",
    }
  `)
  await write('/metadata/nope')
  expect(await muster(args)).toMatchInlineSnapshot(`
    {
      "code": 1,
      "output": "muster: foo: installConfigPatches: operation 0 (replace /metadata/nope): /metadata/nope does not exist",
    }
  `)
})

test('what can’t be meant below pool ends with code 2', async () => {
  expect(await muster(['pool', 'rendr'])).toMatchInlineSnapshot(`
    {
      "code": 2,
      "output": "muster: unknown command rendr; did you mean render? (valid: render)",
    }
  `)
  expect(await muster(['pool', 'render', '--install-config=x'])).toMatchInlineSnapshot(`
    {
      "code": 2,
      "output": "muster: --customization: is needed at least once",
    }
  `)
})
