import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OwnControlPlane, startControlPlane } from '#test/harness/index.ts'
import { type AdapterWorld, adapterWorld, PATIENCE } from './world.ts'

let plane: OwnControlPlane
let world: AdapterWorld

/** Jobs complete where there are nodes. */
beforeAll(async () => {
  plane = await startControlPlane({
    parts: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'],
  })
  await plane.rest('POST', '/api/v1/nodes', { metadata: { name: 'muster-0', labels: { type: 'kwok' } } })
  world = await adapterWorld({ plane })
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await plane?.stop()
})

test('a Job: Unknown while it runs, Ready as soon as it is complete, without another pulse', async () => {
  await world.declare('validate', {
    params: [{ name: 'clusterId', source: 'event.id', required: true }],
    resources: [
      {
        name: 'job',
        manifest: {
          apiVersion: 'batch/v1',
          kind: 'Job',
          metadata: { name: 'validate-{{ .clusterId }}', namespace: world.namespace },
          spec: {
            template: {
              spec: { restartPolicy: 'OnFailure', containers: [{ name: 'validate', image: 'example.com/validate' }] },
            },
          },
        },
        discovery: { namespace: world.namespace, by_name: 'validate-{{ .clusterId }}' },
      },
    ],
  })
  await world.manager()
  await world.until('validate', 'Working')
  const { id } = await world.create('validated')
  await world.pulse(id)
  await vi.waitFor(async () => expect(await world.reported(id, 'validate')).toContain('Applied True Applied'), PATIENCE)
  await vi.waitFor(async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'), PATIENCE)
  expect(await world.reported(id, 'validate')).toContain('Available True Available')

  await world.call('DELETE', `/clusters/${id}`)
  await world.pulse(id, 'Deleting')
  await vi.waitFor(async () => expect(await world.cluster(id)).toBeUndefined(), PATIENCE)
  const jobs = `/apis/batch/v1/namespaces/${world.namespace}/jobs/validate-${id}`
  expect(await world.object(jobs)).toBeUndefined()
})
