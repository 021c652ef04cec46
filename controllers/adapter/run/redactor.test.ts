import { expect, test } from 'vitest'
import { Redactor } from './redactor.ts'

test('ADAPTER-53: a value is hidden wherever it stands, also in JSON, in a URL, and in base64', () => {
  const redactor = new Redactor(['s3c"ret value\n'])
  const shown = redactor.redactDocument({
    plain: 'token s3c"ret value!',
    json: JSON.stringify({ token: 's3c"ret value' }),
    list: [`https://x/y?token=${encodeURIComponent('s3c"ret value')}`, 7, null],
    base64: Buffer.from('s3c"ret value\n').toString('base64'),
  })
  expect(shown).toEqual({
    plain: 'token (hidden)!',
    json: '{"token":"(hidden)"}',
    list: ['https://x/y?token=(hidden)', 7, null],
    base64: '(hidden)',
  })
})

test('of two values the longer one is hidden as a whole', () => {
  expect(new Redactor(['secret', 'secret-of-secrets']).redactText('secret-of-secrets and secret')).toBe(
    '(hidden) and (hidden)',
  )
})

test('ADAPTER-53: every value of a Secret is hidden, within a ManifestWork too; other objects are not secret', () => {
  const redactor = new Redactor()
  const secret = { kind: 'Secret', data: { a: Buffer.from('alpha').toString('base64') }, stringData: { b: 'bravo' } }
  redactor.addSecretsIn({ kind: 'ManifestWork', spec: { workload: { manifests: [secret] } } })
  redactor.addSecretsIn({ kind: 'ConfigMap', data: { c: 'charlie' } })
  expect(redactor.redactText('alpha bravo charlie YWxwaGE=')).toBe('(hidden) (hidden) charlie (hidden)')
})

test('what is as short as a word of any sentence is left alone', () => {
  expect(new Redactor(['yes', '']).redactText('yes')).toBe('yes')
})
