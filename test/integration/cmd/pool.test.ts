import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { muster } from './run.ts'

const folder = await temporaryFolder('pool')

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
      "output": "muster: unknown command rendr; did you mean render? (valid: render, plan)",
    }
  `)
  expect(await muster(['pool', 'render', '--install-config=x'])).toMatchInlineSnapshot(`
    {
      "code": 2,
      "output": "muster: --customization: is needed at least once",
    }
  `)
})

test('muster pool plan prints what would be done next and why, changes nothing, and says what it can’t find', async () => {
  const plane = await sharedControlPlane()
  const namespace = await plane.namespace('plan')
  const hive = `/apis/hive.openshift.io/v1/namespaces/${namespace}`
  const pool = {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterPool',
    metadata: { name: 'pool' },
    spec: {
      platform: { none: {} },
      baseDomain: 'example.com',
      imageSetRef: { name: 'openshift-v4.20' },
      size: 1,
      inventory: { ClusterDeploymentCustomizations: [{ name: 'foo' }] },
    },
  }
  await plane.rest('POST', `${hive}/clusterpools`, pool)
  await plane.rest('POST', `${hive}/clusterdeploymentcustomizations`, {
    apiVersion: 'hive.openshift.io/v1',
    kind: 'ClusterDeploymentCustomization',
    metadata: { name: 'foo' },
    spec: { installConfigPatches: [{ op: 'replace', path: '/metadata/name', value: 'foo' }] },
  })
  await plane.rest('PATCH', `${hive}/clusterpools/pool/status`, { status: { conditions: [] } })
  const seen = await plane.rest('GET', `${hive}/clusterpools/pool`)
  const args = ['pool', 'plan', 'pool', `--namespace=${namespace}`, `--kubeconfig=${plane.kubeconfig}`]

  const planned = await muster(args)
  expect({ ...planned, output: planned.output.replaceAll(namespace, 'NAMESPACE') }).toMatchInlineSnapshot(`
    {
      "code": 0,
      "output": "NAMESPACE/pool:
      WriteStatus    pool                the status says something else
      CreateCluster  pool-new1 with foo  missing clusters: 1",
    }
  `)
  const { actions } = JSON.parse((await muster([...args, '--output=json'])).output) as { actions: readonly object[] }
  expect(actions.at(-1)).toEqual({ action: 'CreateCluster', about: 'pool-new1 with foo', why: 'missing clusters: 1' })
  expect(await plane.rest('GET', `${hive}/clusterpools/pool`)).toEqual(seen)

  const other = await muster(['pool', 'plan', 'other', `--namespace=${namespace}`, `--kubeconfig=${plane.kubeconfig}`])
  expect({ ...other, output: other.output.replaceAll(namespace, 'NAMESPACE') }).toMatchInlineSnapshot(`
    {
      "code": 1,
      "output": "muster: there is no ClusterPool other in namespace NAMESPACE: name another one, or its namespace with --namespace",
    }
  `)
})
