/** What is there already is found in whatever version its kind is served, and what the answer to its deletion says. */
import { describe, expect, test } from 'vitest'
import { ApiError } from '#operator/client/errors.ts'
import { RestMapper, UnknownKindError } from '#operator/client/rest-mapper.ts'
import type { ApiRequest, Transport } from '#operator/client/transport.ts'
import { systemClock } from '#operator/index.ts'
import { KubernetesTransport } from './kubernetes.ts'
import type { Lookup } from './transport.ts'

const { signal } = new AbortController()

const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'one', namespace: 'n', uid: 'u' } }
const RESOURCES = { resources: [{ name: 'widgets', kind: 'Widget', namespaced: true }] }

const LOOKUP: Lookup = {
  name: 'widget',
  identity: { apiVersion: 'example.com/v1beta1', kind: 'Widget', metadata: { namespace: 'n' } },
  transport: { kind: 'kubernetes' },
  match: { kind: 'name', namespace: 'n', name: 'one' },
}

const GONE = { kind: 'Status', status: 'Success', details: { name: 'one', kind: 'widgets', uid: 'u' } }

/** An API server that answers so, and 404 to everything else. */
const serving = (answers: Readonly<Record<string, object>>) => {
  const asked: string[] = []
  const transport = {
    async request({ method, path }: ApiRequest) {
      asked.push(`${method} ${path}`)
      const answer = answers[path]
      if (answer === undefined)
        throw new ApiError({ kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' })
      return answer
    },
  } as unknown as Transport
  const kinds = new RestMapper(transport, systemClock)
  return { asked, reach: new KubernetesTransport({ transport, kinds, namespace: 'n', adapter: 'test' }) }
}

describe('ADAPTER-80: the version in which an object was applied is served no longer', () => {
  test('it is found and deleted in another one', async () => {
    const { asked, reach } = serving({
      '/apis/example.com': { versions: [{ groupVersion: 'example.com/v1' }] },
      '/apis/example.com/v1': RESOURCES,
      '/apis/example.com/v1/namespaces/n/widgets/one': WIDGET,
    })
    expect(await reach.find(LOOKUP, signal)).toEqual([WIDGET])
    await reach.delete(LOOKUP, WIDGET, 'Background', signal)
    expect(asked).toContain('DELETE /apis/example.com/v1/namespaces/n/widgets/one')
  })
  test('nor what was known of it: an answer that names no object is asked about again', async () => {
    const answers: Record<string, object> = {
      '/apis/example.com': { versions: [{ groupVersion: 'example.com/v1beta1' }] },
      '/apis/example.com/v1beta1': RESOURCES,
      '/apis/example.com/v1beta1/namespaces/n/widgets/one': WIDGET,
    }
    const { reach } = serving(answers)
    expect(await reach.find(LOOKUP, signal)).toEqual([WIDGET])
    for (const path of Object.keys(answers)) delete answers[path]
    Object.assign(answers, {
      '/apis/example.com': { versions: [{ groupVersion: 'example.com/v1' }] },
      '/apis/example.com/v1': RESOURCES,
      '/apis/example.com/v1/namespaces/n/widgets/one': WIDGET,
    })
    expect(await reach.find(LOOKUP, signal)).toEqual([WIDGET])
    const labels = { ...LOOKUP, match: { kind: 'labels', namespace: 'n', labels: { a: 'b' } } } as const
    answers['/apis/example.com/v1/namespaces/n/widgets'] = { metadata: { resourceVersion: '1' }, items: [WIDGET] }
    expect(await reach.find(labels, signal)).toMatchObject([WIDGET])
  })

  test.each([
    ['in none of its group', { '/apis/example.com': { versions: [{ groupVersion: 'example.com/v1' }] } }],
    ['as the group', {}],
  ])('nor %s: the kind is unknown', async (_, answers) => {
    const { reach } = serving(answers)
    await expect(reach.find(LOOKUP, signal)).rejects.toMatchObject({ cause: expect.any(UnknownKindError) })
  })
})

describe('ADAPTER-107: what the API server answers to a DELETE', () => {
  const asks = (answer: object) =>
    serving({
      '/apis/example.com': { versions: [{ groupVersion: 'example.com/v1' }] },
      '/apis/example.com/v1': RESOURCES,
      '/apis/example.com/v1/namespaces/n/widgets/one': answer,
    }).reach.delete(LOOKUP, WIDGET, 'Background', signal)

  test('a Status with the uid: it is gone', async () => {
    expect(await asks(GONE)).toBe('gone')
  })

  test.each([
    ['the object, which finalizers hold', { ...WIDGET, metadata: { ...WIDGET.metadata, deletionTimestamp: 'now' } }],
    ['the object as it was', WIDGET],
    ['a Status without an object', { kind: 'Status', status: 'Success' }],
    ['a Status of another object', { ...GONE, details: { ...GONE.details, uid: 'other' } }],
    ['a Status that is no success', { ...GONE, status: 'Failure' }],
    ['nothing', {}],
  ])('%s: it was asked for, and is looked at again', async (_, answer) => {
    expect(await asks(answer)).toBe('asked')
  })
})
