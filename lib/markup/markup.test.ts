import fc from 'fast-check'
import { expect, test } from 'vitest'
import { html } from './markup.ts'

test('a text is shown as it is: nothing in it begins an element, ends an attribute or names a sign', () => {
  const hostile = `<script>alert(1)</script>" onload='x' &amp;`
  expect(html`<p title="${hostile}">${hostile}</p>`.html).toBe(
    `<p title="&#60;script&#62;alert(1)&#60;/script&#62;&#34; onload=&#39;x&#39; &#38;amp;">&#60;script&#62;alert(1)&#60;/script&#62;&#34; onload=&#39;x&#39; &#38;amp;</p>`,
  )
})

test('whatever a text holds, it holds no sign that HTML reads, and reads as the same text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const written = html`${text}`.html
      expect(written).not.toMatch(/[<>"']/)
      expect(written.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))).toBe(text)
    }),
  )
})

test('markup is not escaped again, lists are joined, undefined is nothing', () => {
  expect(html`<ul>${['a<', 'b'].map((item) => html`<li>${item}</li>`)}</ul>${undefined}${0}`.html).toBe(
    '<ul><li>a&#60;</li><li>b</li></ul>0',
  )
})
