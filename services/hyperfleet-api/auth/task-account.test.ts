import fc from 'fast-check'
import { expect, test } from 'vitest'
import { consumerGroup } from '#apis/hyperfleet.redhat.com/consumer-group.ts'
import { parseTaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import { isBoundTo } from './bound-names.ts'
import { readGrants } from './claims.ts'
import { ROLES } from './role.ts'
import { namesOfTaskAccount } from './task-account.ts'

const rules = { groupsClaim: 'groups', mappings: [], defaultRoles: [], taskAccounts: [parseTaskAccounts('tasks')] }
const account = (namespace: string, name: string) => `system:serviceaccount:${namespace}:${name}`
const grantsOf = (sub: string, more: object = {}) =>
  readGrants({ sub, ...more }, { identity: sub }, { ...rules, ...more }, ROLES)

test('API-104: the account of a task reports for the adapter of its name, and takes the events of the task of its name', () => {
  expect(grantsOf(account('tasks', 'dns'))).toEqual({
    roles: ['adapter'],
    adapters: ['dns'],
    consumers: [consumerGroup('tasks', 'dns')],
  })
})

test('API-104: tasks may be in another namespace than their accounts', () => {
  const taskAccounts = ['accounts=tasks', 'team'].map(parseTaskAccounts)
  expect(grantsOf(account('accounts', 'dns'), { taskAccounts })).toEqual({
    roles: ['adapter'],
    adapters: ['dns'],
    consumers: [consumerGroup('tasks', 'dns')],
  })
  expect(grantsOf(account('tasks', 'dns'), { taskAccounts })).toEqual({ roles: [], adapters: [], consumers: [] })
})

test.each(['', '=', 'a=', '=b', 'a=b=c', 'A', '*', 'a/b', ' a'])('API-104: %j is refused as a namespace', (text) => {
  expect(() => parseTaskAccounts(text)).toThrow('write NAMESPACE, or ACCOUNTS=TASKS')
})

test.each([
  ['of another namespace', account('team', 'dns')],
  ['whose namespace begins so', account('tasks-2', 'dns')],
  ['that is none', 'tasks:dns'],
  ['with more parts', account('tasks', 'dns:x')],
  ['of no name', account('tasks', '')],
  ['that would be a pattern', account('tasks', '*')],
  ['behind other words', `x ${account('tasks', 'dns')}`],
])('API-104: an account %s has nothing by its name', (_case, sub) => {
  expect(grantsOf(sub)).toEqual({ roles: [], adapters: [], consumers: [] })
})

test('API-104: who calls itself so in another claim is no account', () => {
  const sub = account('tasks', 'dns')
  const identity = { identity: sub }
  expect(readGrants({ sub: 'mallory', email: sub, name: sub }, identity, rules, ROLES)).toEqual({
    roles: [],
    adapters: [],
    consumers: [],
  })
})

test('API-104: what is mapped to an account comes on top', () => {
  const sub = account('tasks', 'dns')
  const mappings = [{ subject: sub, roles: [], adapters: ['dns-records'] }]
  expect(grantsOf(sub, { mappings })).toMatchObject({ roles: ['adapter'], adapters: ['dns-records', 'dns'] })
})

test.each([['reader'], ['editor']] as const)(
  'API-104: an account that is mapped to the role %s is no account of a task',
  (role) => {
    const sub = account('tasks', 'clusters')
    expect(grantsOf(sub, { mappings: [{ subject: sub, roles: [role] }] })).toEqual({
      roles: [role],
      adapters: [],
      consumers: [],
    })
  },
)

test('API-104: no account acts for the adapter or the group of another one', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?$/)
  fc.assert(
    fc.property(name, name, (one, other) => {
      const names = namesOfTaskAccount(account('tasks', one), [parseTaskAccounts('tasks')])
      if (names === undefined) throw new Error(`${one} is an account`)
      expect(isBoundTo(names, { kind: 'adapter', name: other })).toBe(one === other)
      expect(isBoundTo(names, { kind: 'consumer', name: consumerGroup('tasks', other) })).toBe(one === other)
    }),
  )
})
