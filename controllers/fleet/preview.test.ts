import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import { AT, deploymentOf, viewOf, World } from '#test/worlds/fleet/builders.ts'
import { formatPreview, hasProblems, previewDeployment } from './preview.ts'
import { deviceView } from './state/views.ts'

const device = (name: string, labels: Record<string, string>, more: Partial<Device['spec']> = {}): Device => ({
  apiVersion: 'fleet.nationtech.io/v1alpha1',
  kind: 'Device',
  metadata: { name, labels, uid: name, resourceVersion: '1' },
  spec: { pinned: false, ...more },
})

// FLEET-54
test('preview_equals_actual_match: who is selected and can be served is who gets an entry, with that workload', () => {
  const devices = fc
    .array(
      fc.record({
        zone: fc.constantFrom(undefined, 'z1', 'z2'),
        arch: fc.constantFrom(undefined, 'arm64', 'amd64'),
        pinned: fc.boolean(),
        isTainted: fc.boolean(),
      }),
      { maxLength: 8 },
    )
    .map((all) =>
      all.map(({ zone, arch, pinned, isTainted }, i) =>
        device(`d${i}`, zone === undefined ? {} : { zone }, {
          pinned,
          inventory: arch === undefined ? {} : { arch },
          ...(isTainted && { taints: [{ key: 'lab', effect: 'NoExecute' as const }] }),
        }),
      ),
    )
  const deployments = fc
    .record({
      selector: fc.constantFrom({}, { matchLabels: { zone: 'z1' } }),
      expression: fc.constantFrom(undefined, "device.inventory.arch == 'arm64'"),
      templated: fc.boolean(),
    })
    .map(({ selector, expression, templated }) =>
      deploymentOf('web', {
        selector,
        spec: {
          ...(expression !== undefined && { targetExpression: expression }),
          score: { type: 'Process', templated, data: { command: ['{{ .device.labels.zone }}'] } },
        },
      }),
    )
  fc.assert(
    fc.property(deployments, devices, (deployment, fleet) => {
      const world = new World()
      world.deploy(deployment)
      world.join(...fleet.map((one) => deviceView(one, AT)))
      world.store(world.operator())
      const shown = previewDeployment(deployment, fleet, AT)
      const served = shown.devices.flatMap((one) =>
        one.is === 'Selected' && one.problem === undefined && one.held === undefined ? [one] : [],
      )
      expect(served.map((one) => `${one.device}.shop.web`)).toEqual([...world.desired.values.keys()].toSorted())
      const view = viewOf(deployment)
      for (const one of served) {
        const found = fleet.find(({ metadata }) => metadata.name === one.device)
        if (found === undefined) throw new Error('an unknown device')
        expect(view.desiredWorkload(view.target, deviceView(found, AT))).toHaveProperty('digest')
      }
      expect(shown.batches.reduce((sum, size) => sum + size, 0)).toBe(
        shown.devices.filter(({ is }) => is === 'Selected').length,
      )
    }),
  )
})

test('people read it batch by batch, then who is left out, and why', () => {
  const deployment = deploymentOf('web', {
    selector: { matchLabels: { zone: 'z1' } },
    spec: { targetExpression: "device.inventory.arch == 'arm64'" },
  })
  const arm = { inventory: { arch: 'arm64' } }
  const shown = previewDeployment(
    deployment,
    [device('c', { zone: 'z1' }), device('b', { zone: 'z1' }, { ...arm, pinned: true }), device('a', {}, arm)],
    AT,
  )
  expect(hasProblems(shown)).toBe(true)
  expect(formatPreview(shown, false)).toBe(`shop/web, revision 1: for 1 of 3 devices

batch 1 of 1: 1 device
  b
    held: it is pinned

undecided, so nothing is added and nothing removed: 1 device
  c: the expression fails: no such key: arch at line 1, column 18: device.inventory.arch == 'arm64'

not selected: 1 device
  a: it has no label zone, and the selector wants zone=z1
`)
})

test.each([
  ['a device that is undecided', { is: 'Unknown', why: '' }, true],
  ['a template that can’t be filled in', { is: 'Selected', batch: 1, problem: 'no label' }, true],
  ['a device that gets its workload', { is: 'Selected', batch: 1 }, false],
  ['a device that is left out', { is: 'NotSelected', why: '' }, false],
] as const)('%s is a problem or none', (_what, one, expected) => {
  const shown = { deployment: 'shop/web', revision: 1, isDrawn: true, batches: [1] }
  expect(hasProblems({ ...shown, devices: [{ device: 'a', ...one }] })).toBe(expected)
})
