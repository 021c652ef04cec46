/** ADAPTER-131: a kind is gone from a namespace that ends when that says so, and in no other case. */
import { expect, test } from 'vitest'
import { type EndingNamespace, endsWithout } from './ending-namespace.ts'

const DONE = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
].map((type) => ({ type, status: 'False' }))

const remaining = (status: string, message: string) => ({ type: 'NamespaceContentRemaining', status, message })

const ending = (...conditions: { type: string; status: string; message?: string }[]): EndingNamespace => ({
  metadata: { deletionTimestamp: '2025-11-01T00:00:00Z' },
  status: { conditions },
})

const SECRETS = { group: '', plural: 'secrets' }
const JOBS = { group: 'batch', plural: 'jobs' }
const OTHERS = 'Some resources are remaining: clusterdeployments.hive.openshift.io has 1 resource instances'

test.for([
  ['other kinds alone', ending(...DONE, remaining('True', OTHERS))],
  ['its name in another group', ending(...DONE, remaining('True', `${OTHERS}, secrets.jobs has 1 resource instances`))],
] as const)('gone: %s', ([, namespace]) => {
  expect(endsWithout(namespace, SECRETS)).toBe(true)
  expect(endsWithout(namespace, JOBS)).toBe(true)
})

test.for([
  ['it is not being deleted', { ...ending(...DONE, remaining('False', '')), metadata: {} }],
  ['it says nothing yet', ending()],
  ['it says nothing of what remains', ending(...DONE)],
  [
    'nothing remains, as it says while pods end',
    ending(...DONE, remaining('False', 'All content successfully removed')),
  ],
  [
    'pods alone remain, which go before all else is looked at',
    ending(...DONE, remaining('True', 'Some resources are remaining: pods. has 2 resource instances')),
  ],
  ['what remains can’t be read', ending(...DONE, remaining('True', 'some things are left'))],
  ...DONE.map(({ type }) => {
    const failed = DONE.map((one) => (one.type === type ? { type, status: 'True' } : one))
    return [type, ending(...failed, remaining('True', OTHERS))] as const
  }),
] as const)('not known: %s', ([, namespace]) => {
  expect(endsWithout(namespace, SECRETS)).toBe(false)
})

test('there: it is among several', () => {
  const message = `${OTHERS}, jobs.batch has 12 resource instances, secrets. has 1 resource instances`
  const namespace = ending(...DONE, remaining('True', message))
  expect([endsWithout(namespace, SECRETS), endsWithout(namespace, JOBS)]).toEqual([false, false])
})
