import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sharedControlPlane } from '#test/harness/index.ts'
import { ConfigMap, eventually, world } from './world.ts'

const plane = await sharedControlPlane()
const docs = join(import.meta.dirname, '../../../docs')

describe('the example of docs/runtime.md', () => {
  it('is shown as it is', async () => {
    const example = await readFile(join(docs, 'examples/copies.ts'), 'utf8')
    expect(await readFile(join(docs, 'runtime.md'), 'utf8')).toContain(`\`\`\`ts\n${example}\`\`\``)
  })

  it('copies, follows changes, and takes the copy away', async () => {
    await using the = await world(plane)
    const target = await plane.namespace('copies')
    const child = spawn(process.execPath, [join(docs, 'examples/copies.ts')], {
      env: { ...process.env, KUBECONFIG: plane.kubeconfig },
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    const copy = () => the.api.get(ConfigMap, 'settings', target) as Promise<{ data?: unknown } | undefined>
    const place = { name: 'settings', namespace: the.namespace }
    await plane.rest('POST', `/api/v1/namespaces/${the.namespace}/configmaps`, {
      metadata: { name: 'settings', labels: { 'copy-to': target } },
      data: { color: 'red' },
    })
    await eventually(async () => expect((await copy())?.data).toEqual({ color: 'red' }))
    await the.api.patch(ConfigMap, { ...place, type: 'merge', body: { data: { color: 'blue' } } })
    await eventually(async () => expect((await copy())?.data).toEqual({ color: 'blue' }))
    await the.api.delete(ConfigMap, 'settings', the.namespace)
    await eventually(async () => expect(await copy()).toBeUndefined())
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})
