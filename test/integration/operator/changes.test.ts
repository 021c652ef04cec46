import { describe, expect, it } from 'vitest'
import { ABSENT, controller, PRESENT } from '#operator/index.ts'
import { sharedControlPlane } from '#test/harness/index.ts'
import { eventually, IN_ANNOTATIONS, Widget, world } from './world.ts'

const plane = await sharedControlPlane()

describe('changes of an object reach their handlers', () => {
  it('a new object is created, its spec change is an update, its deletion is waited for', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'lifecycle', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ spec, patch }) => {
      calls.push(`create ${spec.size}`)
      patch.status({ ready: true })
    })
    widgets.on.update('change', ({ diff }) => {
      calls.push(
        ['update', ...diff.map(({ path, old, new: now }) => `${path.join('.')} ${String(old)} ${String(now)}`)].join(
          ' ',
        ),
      )
    })
    widgets.on.delete('unmake', ({ name }) => {
      calls.push(`delete ${name}`)
    })
    await the.run([widgets])

    await the.create('one', { size: 3 })
    const made = await eventually(async () => {
      const widget = await the.get('one')
      expect(widget?.status).toEqual({ ready: true })
      return widget
    })
    expect(made?.metadata.finalizers).toEqual(['muster.dev/lifecycle'])

    await the.change('one', { spec: { size: 5 } })
    await eventually(() => expect(calls).toHaveLength(2))
    await the.remove('one')
    await eventually(async () => expect(await the.get('one')).toBeUndefined())
    expect(calls).toEqual(['create 3', 'update spec.size 3 5', 'delete one'])
  })

  // RUNTIME-16
  it('a garbled note holds up neither the creation nor the deletion', async () => {
    await using the = await world(plane)
    const created: string[] = []
    const widgets = controller(Widget, { name: 'garbled', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ name }) => void created.push(name))
    widgets.on.delete('break', () => {})
    await the.run([widgets])
    const notes = ['null', '{}', '{"type":"create","handlers":{"make":{}}}']
    for (const [number, note] of notes.entries()) {
      await the.create(`one-${number}`, {}, { annotations: { 'muster.dev/garbled.progress': note } })
    }
    await eventually(() => expect(created.toSorted()).toEqual(['one-0', 'one-1', 'one-2']))
    for (const [number] of notes.entries()) await the.remove(`one-${number}`)
    await eventually(async () => {
      for (const [number] of notes.entries()) expect(await the.get(`one-${number}`)).toBeUndefined()
    })
  })

  // RUNTIME-15
  it('without a storage on the object nothing is written, and the next process creates it again', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = () => {
      const one = controller(Widget, { name: 'forgetful' })
      one.on.create('make', ({ name }) => void calls.push(name))
      return one
    }
    const first = await the.run([widgets()])
    const made = await the.create('one')
    await eventually(() => expect(calls).toEqual(['one']))
    await first.stop()
    await the.run([widgets()])
    await eventually(() => expect(calls).toEqual(['one', 'one']))
    expect(await the.get('one')).toEqual(made)
  })

  // RUNTIME-11
  it('a status change is no update, and a change of a label is one', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'essence', ...IN_ANNOTATIONS })
    widgets.on.update('change', ({ diff }) => {
      calls.push(diff.map(({ op, path }) => `${op} ${path.join('.')}`).join())
    })
    await the.run([widgets])
    await the.create('one')
    await eventually(async () =>
      expect((await the.get('one'))?.metadata.annotations).toHaveProperty(['muster.dev/essence.handled']),
    )
    await the.api.patch(Widget, {
      name: 'one',
      namespace: the.namespace,
      subresource: 'status',
      type: 'merge',
      body: { status: { phase: 'x' } },
    })
    await the.change('one', { metadata: { labels: { tier: 'gold' } } })
    await eventually(() => expect(calls).toEqual(['add metadata.labels']))
  })

  it('an object that was handled by an earlier process is resumed; one that changed meanwhile is updated', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'resume', ...IN_ANNOTATIONS })
    widgets.on.create('make', ({ name }) => {
      calls.push(`create ${name}`)
    })
    widgets.on.resume('again', ({ name }) => {
      calls.push(`resume ${name}`)
    })
    widgets.on.update('change', ({ name }) => {
      calls.push(`update ${name}`)
    })
    const first = await the.run([widgets])
    await the.create('same')
    await the.create('changed')
    await eventually(async () => {
      for (const name of ['same', 'changed']) {
        expect((await the.get(name))?.metadata.annotations).toHaveProperty(['muster.dev/resume.handled'])
      }
    })
    await first.stop()
    await the.change('changed', { spec: { size: 9 } })
    calls.length = 0

    await the.run([widgets])
    await eventually(() => expect(calls.toSorted()).toEqual(['resume changed', 'resume same', 'update changed']))
  })

  it('a field handler sees only what touches its field', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'field', ...IN_ANNOTATIONS })
    widgets.on.field('spec.size', 'scale', ({ diff }) => {
      calls.push(diff.map(({ old, new: now }) => `${JSON.stringify(old)}→${JSON.stringify(now)}`).join())
    })
    await the.run([widgets])
    await the.create('one', { size: 1, color: 'red' })
    await eventually(() => expect(calls).toHaveLength(1))
    await the.change('one', { spec: { color: 'blue' } })
    await the.change('one', { spec: { size: 2 } })
    await eventually(() => expect(calls.at(-1)).toBe('1→2'))
    expect(calls).toHaveLength(2)
  })

  it('filters choose by labels, annotations and a question, and an object that matches later is created then', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    const widgets = controller(Widget, { name: 'filters', ...IN_ANNOTATIONS })
    widgets.on.create('tiered', ({ name }) => void calls.push(`tiered ${name}`), { labels: { tier: PRESENT } })
    widgets.on.create('plain', ({ name }) => void calls.push(`plain ${name}`), {
      labels: { tier: ABSENT },
      when: ({ spec }) => spec.size > 5,
    })
    await the.run([widgets])
    await the.create('gold', {}, { labels: { tier: 'gold' } })
    await the.create('big', { size: 9 })
    await the.create('small', { size: 1 })
    await eventually(() => expect(calls.toSorted()).toEqual(['plain big', 'tiered gold']))
    expect((await the.get('small'))?.metadata.annotations).toBeUndefined()
    await the.change('small', { spec: { size: 6 } })
    await eventually(() => expect(calls).toContain('plain small'))
  })

  it('every event of the watch reaches an event handler', async () => {
    await using the = await world(plane)
    const calls: string[] = []
    await the.create('before')
    const widgets = controller(Widget, { name: 'events', ...IN_ANNOTATIONS })
    widgets.on.event('see', ({ type, name }) => void calls.push(`${type} ${name}`))
    await the.run([widgets])
    await eventually(() => expect(calls).toEqual(['listed before']))
    await the.create('after')
    await the.change('after', { spec: { size: 2 } })
    await the.change('after', { spec: { size: 3 } })
    await the.remove('after')
    await eventually(() => expect(calls).toContain('deleted after'))
    expect(calls.slice(1)).toEqual(['added after', 'modified after', 'modified after', 'deleted after'])
  })
})
