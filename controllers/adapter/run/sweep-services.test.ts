/** Objects of HTTP services are swept with the headers with which they were applied, or not at all. */
import { describe, expect, test } from 'vitest'
import { deleting, runWorld } from '#test/worlds/adapter/run-world.ts'

const URL_OF_SITE = 'https://sites.example.com/sites/c1'

const site = (rest: object = {}): object => ({
  name: 'site',
  manifest: { id: 'c1' },
  transport: {
    client: 'http',
    http: { url: URL_OF_SITE, headers: [{ name: 'Authorization', value: 'Bearer {{ .token }}' }] },
  },
  ...rest,
})

const task = (source: string, resources: readonly object[] = [site()]) => ({
  params: [
    { name: 'zone', source: 'resource.spec.zone', required: true },
    { name: 'token', source, required: true },
  ],
  resources,
})
const EAST = { id: 'c1', name: 'east', generation: 2, spec: { zone: 'a' }, token: 't' }

const applied = async (source: string, given: { readonly selection?: string } = {}) => {
  const world = runWorld(task(source), { ...given, environment: { TOKEN: 's3cret' } })
  world.resource = EAST
  await world.run()
  expect(world.recorded()).toEqual([`site ${URL_OF_SITE}`])
  world.done()
  world.headers()
  return world
}

describe('ADAPTER-78: a sweep reaches a service', () => {
  test('with the headers of the task, when the resource is gone and other params went with it', async () => {
    const world = await applied('env.TOKEN')
    world.resource = undefined
    expect((await world.run()).remaining).toEqual([])
    expect([world.done(), world.recorded()]).toEqual([['delete site Background'], []])
    expect(new Set(world.headers())).toEqual(new Set(['Bearer s3cret']))
  })
  test('with them, when the labels are not selected any more', async () => {
    const world = await applied('env.TOKEN', { selection: 'pace=slow' })
    world.selected = false
    await world.run()
    expect(world.done()).toEqual(['delete site Background'])
    expect(new Set(world.headers())).toEqual(new Set(['Bearer s3cret']))
  })
  test('never without them: what can’t be asked about counts as there', async () => {
    const world = await applied('resource.token')
    world.resource = undefined
    const { trace, remaining } = await world.run()
    expect([remaining, trace.failures[0]?.step, trace.failures[0]?.reason]).toEqual([
      ['site'],
      'site',
      'TemplateFailed',
    ])
    expect([world.headers(), world.recorded()]).toEqual([[], [`site ${URL_OF_SITE}`]])
  })
})

describe('ADAPTER-64: an object of a service', () => {
  test('that the task has never applied is not deleted', async () => {
    const world = runWorld({ resources: [site({ transport: { client: 'http', http: { url: URL_OF_SITE } } })] })
    world.put({ url: URL_OF_SITE })
    world.resource = { id: 'c1', name: 'east', generation: 3, deleted_time: '2026-01-31T11:59:00Z' }
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toEqual([])
  })
  test('that it has applied is', async () => {
    const world = await deleting({ resources: [site({ transport: { client: 'http', http: { url: URL_OF_SITE } } })] })
    expect((await world.run()).remaining).toEqual([])
    expect(world.done()).toEqual(['delete site Background'])
  })
})
