import { expect, test } from 'vitest'
import { html } from '#lib/markup/markup.ts'
import type { RenderedPage } from '../page.ts'
import { changesSince, sectionDigests } from './changes.ts'

const opened = (sections: Readonly<Record<string, string>>): RenderedPage => ({
  model: {},
  title: 'T',
  sections: Object.entries(sections).map(([id, text]) => ({ id, body: html`${text}` })),
})

const before = opened({ state: 'one', list: 'two' })

test('nothing is sent when nothing differs', () => {
  expect(changesSince(sectionDigests(before), opened({ state: 'one', list: 'two' }))).toBeUndefined()
})

test('only the section that differs is sent, in place of itself', () => {
  expect(changesSince(sectionDigests(before), opened({ state: 'one', list: 'three' }))?.html).toBe(
    '<hx-partial hx-target="#s-list" hx-swap="outerMorph"><section id="s-list">three</section></hx-partial>',
  )
})

test('all are sent when there are others, in another order, or when it is unknown what is shown', () => {
  for (const now of [opened({ state: 'one' }), opened({ list: 'two', state: 'one' })])
    expect(changesSince(sectionDigests(before), now)?.html).toContain('hx-target="#sections" hx-swap="innerMorph"')
  expect(changesSince(undefined, before)?.html).toContain('hx-target="#sections"')
})
