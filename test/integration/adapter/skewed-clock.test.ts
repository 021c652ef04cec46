/** A manager whose machine's clock is off, and is set while it works: on the real API server and API, which know the time. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { systemClock } from '#operator/index.ts'
import { type AdapterWorld, adapterWorld, namespaceAndConfig } from './world.ts'

const MINUTE_MS = 60_000

let world: AdapterWorld
let skew = 0

beforeAll(async () => {
  world = await adapterWorld()
  const clock = { ...systemClock, now: () => new Date(Date.now() + skew) }
  await world.manager(undefined, { clock })
  await world.declare('standard', { ...namespaceAndConfig(), selector: { matchLabels: { task: 'standard' } } })
  await world.declare('own', {
    ...namespaceAndConfig(),
    selector: { matchLabels: { task: 'own' } },
    post: {
      payloads: [
        {
          name: 'report',
          build: {
            adapter: '{{ .adapter.name }}',
            observed_generation: { expression: 'resource.generation' },
            observed_time: { expression: 'now()' },
            conditions: ['Applied', 'Available', 'Health'].map((type) => ({
              type,
              status: type === 'Health' ? 'True' : { expression: 'has(resource.deleted_time) ? "False" : "True"' },
            })),
          },
        },
      ],
      post_actions: [
        {
          name: 'report',
          api_call: { method: 'PUT', url: '{{ .event.href }}/statuses', body: '{{ .report }}' },
        },
      ],
    },
  } as never)
  for (const task of ['standard', 'own']) await world.until(task, 'Working')
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

test.each([
  ['ahead', 'standard', 90],
  ['behind', 'standard', -90],
  ['a little behind', 'standard', -10],
  ['ahead', 'own', 90],
  ['behind', 'own', -90],
])(
  'ADAPTER-111: %s, a task with the %s report makes clusters ready and has them deleted',
  async (_which, task, minutes) => {
    skew = minutes * MINUTE_MS
    const { id } = await world.create(`${task}-${minutes}`.replace('--', '-minus-'), {}, { task })
    await world.pulsedUntil(id, async () => expect((await world.cluster(id))?.status.phase).toBe('Ready'))
    const statuses = await world.call<{ items: { last_report_time: string }[] }>('GET', `/clusters/${id}/statuses`)
    for (const { last_report_time } of statuses?.items ?? [])
      expect(Math.abs(Date.parse(last_report_time) - Date.now())).toBeLessThan(5 * MINUTE_MS)
    await world.call('DELETE', `/clusters/${id}`)
    await world.pulsedUntil(id, async () => expect(await world.cluster(id)).toBeUndefined())
    await vi.waitFor(async () =>
      expect(await world.object(`/api/v1/namespaces/c-${id}/configmaps/config`)).toBeUndefined(),
    )
  },
)
