import { describe, expect, it } from 'vitest'
import { matches } from '../model/filters.ts'
import type { KubeObject } from '../model/resource.ts'
import { ObjectDeletedError, ObjectScope, ScopeEndedError } from './object-scope.ts'

const widget = (labels: Record<string, string>): KubeObject => ({
  apiVersion: 'test/v1',
  kind: 'Widget',
  metadata: { name: 'one', uid: 'u', resourceVersion: '1', labels },
  spec: {},
})

describe('the scope of an object', () => {
  it('ends every handler in it, also one that reads its signal later, or starts later', () => {
    const life = new ObjectScope<KubeObject>()
    const early = life.enter({})
    const { signal } = early
    const lazy = life.enter({})
    life.end(new ObjectDeletedError('the object is gone'))
    expect([signal.aborted, early.ended, lazy.signal.aborted, life.enter({}).signal.aborted]).toEqual(
      Array.from({ length: 4 }, () => true),
    )
    expect(signal.reason).toEqual(new ObjectDeletedError('the object is gone'))
  })

  it('ends only handlers whose filters no longer match', () => {
    const life = new ObjectScope<KubeObject>()
    const gold = life.enter({ labels: { tier: 'gold' } })
    const anyone = life.enter({})
    life.changed(widget({ tier: 'gold' }), matches)
    expect(gold.ended).toBe(false)
    life.changed(widget({ tier: 'iron' }), matches)
    expect([gold.ended, anyone.ended]).toEqual([true, false])
  })

  it('does not touch handlers that have ended', () => {
    const life = new ObjectScope<KubeObject>()
    const handlerScope = life.enter({})
    const { signal } = handlerScope
    handlerScope.leave()
    life.end(new ScopeEndedError('over'))
    expect(signal.aborted).toBe(false)
  })
})
