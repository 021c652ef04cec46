import { describe, expect, it } from 'vitest'
import type { AdmissionHandler } from '../engine/definition.ts'
import { PermanentError, TemporaryError } from '../model/errors.ts'
import { silent as log } from '../model/log.ts'
import { type AdmissionRequest, mutate, parseReview, validate } from './review.ts'

const object = {
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { name: 'one', uid: 'u', resourceVersion: '1', labels: { tier: 'gold' } },
  spec: { size: 1, parts: ['a'] },
}
const request: AdmissionRequest = {
  uid: 'r',
  operation: 'CREATE',
  object,
  oldObject: null,
  userInfo: { username: 'ann', groups: ['dev'] },
}
const handler = (run: AdmissionHandler['run'], id = 'check'): AdmissionHandler => ({ id, filters: {}, run })

describe('a validation', () => {
  it('is passed when no handler refuses, with the warnings', async () => {
    const handlers = [handler(({ warnings }) => void warnings.push('mind the gap'))]
    expect(await validate(handlers, request, log)).toEqual({ uid: 'r', allowed: true, warnings: ['mind the gap'] })
  })

  it.each([
    [new PermanentError('no'), { code: 422, reason: 'Invalid', message: 'no' }],
    [new PermanentError('no', { reason: 'TooLarge' }), { code: 422, reason: 'TooLarge', message: 'no' }],
    [new TemporaryError('later'), { code: 429, reason: 'TooManyRequests', message: 'later' }],
    [new Error('a bug'), { code: 500, reason: 'InternalError', message: 'a bug' }],
  ])('is refused by %s', async (error, status) => {
    const handlers = [
      handler(() => {
        throw error
      }),
    ]
    expect(await validate(handlers, request, log)).toEqual({ uid: 'r', allowed: false, status })
  })

  it('is about the old object when there is only that', async () => {
    const seen: unknown[] = []
    const handlers = [handler((context) => void seen.push(context.object.metadata.name, context.operation))]
    await validate(handlers, { ...request, operation: 'DELETE', object: null, oldObject: object }, log)
    expect(seen).toEqual(['one', 'DELETE'])
  })

  it('that tries to change the object is a fault', async () => {
    const handlers = [handler(({ patch }) => patch.merge({ spec: {} }))]
    expect((await validate(handlers, request, log)).status?.message).toMatch('declare it with on.mutate')
  })
})

describe('a mutation', () => {
  const decode = (patch = '') => JSON.parse(Buffer.from(patch, 'base64').toString())

  it('answers with what changed only, each handler working on what the one before made', async () => {
    const handlers = [
      handler(
        ({ patch }) => patch.merge({ spec: { size: 2, color: 'red' }, metadata: { labels: { tier: null } } }),
        'a',
      ),
      handler(
        ({ patch }) =>
          patch.edit((draft) => {
            const spec = draft.spec as { size: number; parts: string[] }
            spec.parts.push(`b${spec.size}`)
          }),
        'b',
      ),
    ]
    const { patch, ...response } = await mutate(handlers, request, log)
    expect(response).toEqual({ uid: 'r', allowed: true, patchType: 'JSONPatch' })
    expect(decode(patch)).toEqual([
      { op: 'add', path: '/spec/parts/1', value: 'b2' },
      { op: 'replace', path: '/spec/size', value: 2 },
      { op: 'add', path: '/spec/color', value: 'red' },
      { op: 'remove', path: '/metadata/labels/tier' },
    ])
    expect(object.spec).toEqual({ size: 1, parts: ['a'] })
  })

  it('without a change has no patch', async () => {
    const handlers = [handler(({ patch }) => patch.merge({ spec: { size: 1 } }))]
    expect(await mutate(handlers, request, log)).toEqual({ uid: 'r', allowed: true })
  })
})

describe('the body of a call', () => {
  it.each(['', '[]', '{}', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'])(
    'is refused when it is %j',
    (body) => {
      expect(() => parseReview(body)).toThrow('not an AdmissionReview of admission.k8s.io/v1')
    },
  )
})
