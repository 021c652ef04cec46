import { describe, expect, test } from 'vitest'
import { callsOf } from './call.ts'

const USER = { username: 'system:serviceaccount:test-1:hyperfleet-adapter' }

const line = (event: object) =>
  JSON.stringify({
    verb: 'get',
    user: USER,
    objectRef: { resource: 'leases', apiGroup: 'coordination.k8s.io', name: 'l' },
    ...event,
  })

describe('one line of an audit log', () => {
  test('is a call of the account, whatever its namespace', () => {
    expect(callsOf(line({}))).toEqual([
      { account: 'hyperfleet-adapter', verb: 'get', group: 'coordination.k8s.io', resource: 'leases', name: 'l' },
    ])
  })

  test('names the subresource with the resource, and the core group by nothing', () => {
    const objectRef = { resource: 'namespaces', subresource: 'finalize' }
    expect(callsOf(line({ verb: 'update', objectRef }))).toEqual([
      { account: 'hyperfleet-adapter', verb: 'update', group: '', resource: 'namespaces/finalize' },
    ])
  })

  test('in the name of another account needs no right but that', () => {
    const impersonatedUser = { username: 'system:serviceaccount:test-1:everything' }
    expect(callsOf(line({ verb: 'create', impersonatedUser }))).toEqual([
      {
        account: 'hyperfleet-adapter',
        verb: 'impersonate',
        group: '',
        resource: 'serviceaccounts',
        name: 'everything',
      },
    ])
  })

  test('in the name of another account, refused before anything else, still needs no right but that', () => {
    const message = 'serviceaccounts "everything" is forbidden: User "u" cannot impersonate resource "serviceaccounts"'
    expect(callsOf(line({ verb: 'watch', responseStatus: { code: 403, message } }))).toEqual([
      { account: 'hyperfleet-adapter', verb: 'impersonate', group: '', resource: 'serviceaccounts' },
    ])
  })

  test('is two calls when an apply has created the object', () => {
    const verbs = callsOf(line({ verb: 'patch', responseStatus: { code: 201 } })).map(({ verb }) => verb)
    expect(verbs).toEqual(['patch', 'create'])
  })

  test('is a call when it was refused', () => {
    expect(callsOf(line({ responseStatus: { code: 403 } }))).toHaveLength(1)
  })

  test.each([
    ['by a person', { user: { username: 'muster-admin' } }],
    ['by a part of Kubernetes', { user: { username: 'system:kube-scheduler' } }],
    ['of no object', { objectRef: undefined, verb: 'get' }],
    ['about oneself', { objectRef: { resource: 'selfsubjectaccessreviews', apiGroup: 'authorization.k8s.io' } }],
  ])('is nothing %s', (_, event) => {
    expect(callsOf(line(event))).toEqual([])
  })
})
