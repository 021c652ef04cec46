import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deploymentOf, deviceOf, viewOf } from '#test/worlds/fleet/builders.ts'
import { FleetState } from './fleet-state.ts'
import { SelectionIndex } from './selection-index.ts'
import type { DeploymentView, DeviceView } from './views.ts'

const SITES = Array.from({ length: 50 }, (_, n) => `s${n}`)

/** A view that writes down of which devices it was asked. */
const asked = (view: DeploymentView, by: Set<string>): DeploymentView => ({
  ...view,
  selects: (device) => {
    by.add(`${view.key} ${device.name}`)
    return view.selects(device)
  },
})

describe('of all Deployments and Devices', () => {
  // FLEET-126
  test('only those are compared that may belong together by a label, also when all of them have another one in common', () => {
    const state = new FleetState()
    const comparisons = new Set<string>()
    const take = () => {
      const all = [...comparisons].toSorted()
      comparisons.clear()
      return all
    }
    const deploy = (site: string) => {
      const selector = { matchLabels: { role: 'till', site } }
      state.deploymentSeen(asked(viewOf(deploymentOf(site, { selector })), comparisons))
    }
    const tillOf = (site: string, more: Record<string, string> = {}) =>
      state.deviceSeen(deviceOf(`till-${site}`, { role: 'till', site, ...more }))
    deploy('s0')
    for (const site of SITES) tillOf(site)
    take()
    for (const site of SITES.slice(1)) deploy(site)
    expect(take()).toEqual(
      SITES.slice(1)
        .map((site) => `shop/${site} till-${site}`)
        .toSorted(),
    )
    for (const site of SITES) tillOf(site, { changed: 'yes' })
    // One of them is found by what all have in common.
    expect(new Set(take())).toEqual(
      new Set([...SITES.map((site) => `shop/${site} till-${site}`), ...SITES.map((site) => `shop/s0 till-${site}`)]),
    )
    state.deviceSeen(deviceOf('till-s7', { role: 'till', site: 's8' }))
    expect(take()).toEqual(['shop/s0 till-s7', 'shop/s7 till-s7', 'shop/s8 till-s7'])
    deploy('s7')
    expect(take()).toEqual([])
  })

  // FLEET-126
  test('one that names no value of a label is compared with each', () => {
    const state = new FleetState()
    const comparisons = new Set<string>()
    const selector = { matchExpressions: [{ key: 'site', operator: 'NotIn', values: ['s1'] }] }
    state.deploymentSeen(asked(viewOf(deploymentOf('web', { selector })), comparisons))
    state.deviceSeen(deviceOf('a'))
    state.deviceSeen(deviceOf('b', { site: 's1' }))
    expect([...comparisons].toSorted()).toEqual(['shop/web a', 'shop/web b'])
  })

  // FLEET-126
  test('one that named none and does now is compared no more with those that have it not', () => {
    const state = new FleetState()
    const comparisons = new Set<string>()
    state.deploymentSeen(asked(viewOf(deploymentOf('web')), comparisons))
    state.deploymentSeen(asked(viewOf(deploymentOf('web', { selector: { matchLabels: { site: 's1' } } })), comparisons))
    state.deviceSeen(deviceOf('a', { site: 's2' }))
    expect([...comparisons]).toEqual([])
  })

  // FLEET-126
  test('all Devices are gone through for the first Deployment that needs a label, for none after it, and anew once all are gone', () => {
    let times = 0
    class Devices extends Map<string, DeviceView> {
      override values() {
        times += 1
        return super.values()
      }
    }
    const index = new SelectionIndex(new Devices([['a', deviceOf('a', { site: 's1' })]]))
    const needing = (key: string) => ({ key, needs: [{ key: 'site', values: ['s1'] }] })
    const devicesOf = (key: string) => [...index.devicesOf(needing(key))].map(({ name }) => name)
    for (const key of ['one', 'two', 'two']) index.deploymentSeen(needing(key))
    expect([devicesOf('two'), times]).toEqual([['a'], 1])
    for (const key of ['one', 'two']) index.deploymentDeleted(key)
    expect(devicesOf('two')).toEqual([])
    index.deploymentSeen(needing('three'))
    expect([devicesOf('three'), times]).toEqual([['a'], 2])
  })

  // FLEET-126, FLEET-31, FLEET-115
  test('whatever changes in any order, the same belong together as if all pairs were compared', () => {
    const values = fc.constantFrom('x', 'y', 'z')
    const labels = fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), values, { maxKeys: 3 })
    const needs = fc.record({
      key: fc.constantFrom('a', 'b', 'constructor'),
      values: fc.uniqueArray(values, { minLength: 1 }),
    })
    const selector = fc.record({
      matchLabels: fc.dictionary(fc.constantFrom('a', 'b'), values, { maxKeys: 2 }),
      matchExpressions: fc.array(
        fc.oneof(
          needs.map((need) => ({ ...need, operator: 'In' })),
          needs.map((need) => ({ ...need, operator: 'NotIn' })),
          needs.map(({ key }) => ({ key, operator: 'Exists' })),
        ),
        { maxLength: 2 },
      ),
    })
    const name = fc.constantFrom('one', 'two', 'three')
    const step = fc.oneof(
      fc.record({ do: fc.constant('deploy' as const), name, selector, fails: fc.boolean() }),
      fc.record({ do: fc.constant('withdraw' as const), name }),
      fc.record({ do: fc.constant('join' as const), name, labels }),
      fc.record({ do: fc.constant('leave' as const), name }),
    )
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
        const state = new FleetState()
        const deployments = new Map<string, DeploymentView>()
        const devices = new Map<string, DeviceView>()
        for (const next of steps) {
          if (next.do === 'deploy') {
            // It can't be said of a device that has no label `c`, which none has.
            const spec = next.fails ? { targetExpression: "device.labels.c == 'x'" } : {}
            const view = viewOf(deploymentOf(next.name, { selector: next.selector, spec }))
            deployments.set(view.key, view)
            state.deploymentSeen(view)
          } else if (next.do === 'withdraw') {
            deployments.delete(`shop/${next.name}`)
            state.deploymentDeleted(`shop/${next.name}`)
          } else if (next.do === 'join') {
            const device = deviceOf(next.name, next.labels)
            devices.set(next.name, device)
            state.deviceSeen(device)
          } else {
            devices.delete(next.name)
            state.deviceDeleted(next.name)
          }
        }
        for (const view of deployments.values()) {
          const all = (is: string) =>
            [...devices.values()].filter((device) => view.selects(device).is === is).map((device) => device.name)
          const matched = [...state.matched(view.key)].map(({ device }) => device.name)
          expect(matched.toSorted()).toEqual(all('Selected').toSorted())
          expect(state.undecided(view.key)?.count ?? 0).toBe(all('Unknown').length)
        }
      }),
      { numRuns: 500 },
    )
  })
})
