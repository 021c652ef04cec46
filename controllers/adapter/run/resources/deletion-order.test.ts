import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type DeletionStep,
  decideDeletionOrder,
  decideDeletions,
  type OrderedResource,
  type Presence,
  remainingResources,
} from './deletion-order.ts'

const resource = (name: string, given: Partial<OrderedResource> = {}): OrderedResource => ({
  name,
  after: undefined,
  policy: 'Background',
  isGated: false,
  ...given,
})

const orderOf = (...resources: readonly OrderedResource[]): Record<string, readonly string[]> | string => {
  const verdict = decideDeletionOrder(resources)
  return verdict.kind === 'order'
    ? Object.fromEntries(verdict.waitsFor)
    : `${verdict.problem.reason}: ${verdict.problem.message}`
}

describe('ADAPTER-35: the order', () => {
  test('nothing said: the list, backwards', () => {
    expect(orderOf(resource('namespace'), resource('config'), resource('job'))).toEqual({
      namespace: ['config'],
      config: ['job'],
      job: [],
    })
  })

  test('an after anywhere: what it does not order goes in parallel', () => {
    expect(
      orderOf(
        resource('namespace', { after: ['config', 'job'] }),
        resource('config'),
        resource('job'),
        resource('role'),
      ),
    ).toEqual({ namespace: ['config', 'job'], config: [], job: [], role: [] })
  })

  test('a condition of its own anywhere: the conditions are the order', () => {
    expect(orderOf(resource('namespace', { isGated: true }), resource('config'))).toEqual({ namespace: [], config: [] })
  })

  test('an empty after is an order too: all at once', () => {
    expect(orderOf(resource('a', { after: [] }), resource('b'))).toEqual({ a: [], b: [] })
  })

  test('nothing to delete', () => {
    expect(orderOf()).toEqual({})
  })
})

describe('ADAPTER-36: an order that can’t be', () => {
  test('an unknown name', () => {
    expect(orderOf(resource('a', { after: ['b'] }), resource('c'))).toMatchInlineSnapshot(
      `"InvalidDeletionConfig: a is to be deleted after b, which is no resource of the task: write one of a, c"`,
    )
  })

  test('a cycle, also through others', () => {
    expect(
      orderOf(resource('a', { after: ['b'] }), resource('b', { after: ['c'] }), resource('c', { after: ['a'] })),
    ).toMatchInlineSnapshot(
      `"InvalidDeletionOrder: a waits for b waits for c waits for a: none of them would ever be deleted; take one name out of an after"`,
    )
  })

  test('a resource after itself', () => {
    expect(orderOf(resource('a', { after: ['a'] }))).toMatch(/^InvalidDeletionOrder: a waits for a/)
  })
})

describe('what is deleted now', () => {
  const resources = [resource('namespace', { after: ['config', 'job'] }), resource('config'), resource('job')]
  const steps = (presence: Record<string, Presence>, given = resources, closed: string[] = []) => {
    const verdict = decideDeletionOrder(given)
    if (verdict.kind === 'problem') throw new Error(verdict.problem.message)
    const found = decideDeletions(given, verdict.waitsFor, new Map(Object.entries(presence)), new Set(closed))
    return [...found].map(([name, step]) => `${name} ${said(step)}`)
  }
  const said = (step: DeletionStep) => (step.action === 'wait' ? `waits for ${step.for.join(' and ')}` : step.action)

  test('independent ones together, the others wait for them', () => {
    expect(steps({ namespace: 'there', config: 'there', job: 'there' })).toEqual([
      'namespace waits for config and job',
      'config delete',
      'job delete',
    ])
  })

  test('what is on its way is left alone, and waited for', () => {
    expect(steps({ namespace: 'there', config: 'gone', job: 'going' })).toEqual([
      'namespace waits for job',
      'config done',
      'job leave',
    ])
  })

  test('the last one, when all before it are gone', () => {
    expect(steps({ namespace: 'there' })).toEqual(['namespace delete', 'config done', 'job done'])
  })

  test('ADAPTER-43: an orphaning deletion is not waited for', () => {
    const given = [resource('owner', { after: ['cache'] }), resource('cache', { policy: 'Orphan' })]
    expect(steps({ owner: 'there', cache: 'there' }, given)).toEqual(['owner delete', 'cache delete'])
  })

  test('ADAPTER-43: a foreground deletion is waited for', () => {
    const given = [resource('owner', { after: ['app'] }), resource('app', { policy: 'Foreground' })]
    expect(steps({ owner: 'there', app: 'going' }, given)).toEqual(['owner waits for app', 'app leave'])
  })

  test('what has a condition that is not true waits, whatever the others do', () => {
    const given = [resource('a', { isGated: true }), resource('b', { isGated: true })]
    expect(steps({ a: 'there', b: 'there' }, given, ['a'])).toEqual(['a waits for ', 'b delete'])
  })
})

describe('what a deletion still waits for', () => {
  const resources = [resource('a'), resource('b', { policy: 'Orphan' })]
  test.for<[Record<string, Presence>, string[]]>([
    [{ a: 'there', b: 'there' }, ['a', 'b']],
    [{ a: 'going', b: 'going' }, ['a']],
    [{ b: 'there' }, ['b']],
    [{ b: 'going' }, []],
    [{}, []],
  ])('%j: %j', ([presence, left]) => {
    expect(remainingResources(resources, new Map(Object.entries(presence)))).toEqual(left)
  })
})

describe('whatever the graph', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
  /** Each may only wait for those before it in the list, so there is no cycle; the list is shuffled then. */
  const acyclic = fc
    .tuple(
      fc.array(fc.subarray(NAMES), { minLength: NAMES.length, maxLength: NAMES.length }),
      fc.shuffledSubarray(NAMES, { minLength: NAMES.length }),
    )
    .map(([edges, shuffled]) =>
      shuffled.map((name) => {
        const at = NAMES.indexOf(name)
        return resource(name, { after: (edges[at] ?? []).filter((other) => NAMES.indexOf(other) < at) })
      }),
    )

  test('everything goes, each only after what it waits for, and in as many rounds as the longest chain', () => {
    fc.assert(
      fc.property(acyclic, (resources) => {
        const verdict = decideDeletionOrder(resources)
        if (verdict.kind === 'problem') throw new Error(verdict.problem.message)
        const presence = new Map<string, Presence>(resources.map(({ name }) => [name, 'there']))
        for (let round = 0; remainingResources(resources, presence).length > 0; round++) {
          expect(round).toBeLessThan(resources.length)
          for (const [name, { action }] of decideDeletions(resources, verdict.waitsFor, presence)) {
            if (action !== 'delete') continue
            const waited = resources.find((one) => one.name === name)?.after ?? []
            expect(waited.filter((other) => presence.get(other) !== 'gone')).toEqual([])
            presence.set(name, 'going')
          }
          for (const [name, present] of presence) if (present === 'going') presence.set(name, 'gone')
        }
      }),
    )
  })

  test('an edge back into what it leads to is always found', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.shuffledSubarray(NAMES, { minLength: 6 }), (length, shuffled) => {
        const ring = NAMES.slice(0, length)
        const resources = shuffled.map((name) => {
          const at = ring.indexOf(name)
          return resource(name, { after: at < 0 ? [] : [ring[(at + 1) % length] ?? name] })
        })
        const verdict = decideDeletionOrder(resources)
        expect(verdict.kind === 'problem' && verdict.problem.reason).toBe('InvalidDeletionOrder')
      }),
    )
  })
})
