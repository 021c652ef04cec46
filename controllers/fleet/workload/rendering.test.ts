import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { compileWorkload } from './rendering.ts'

const till = { name: 'till-1', labels: { region: 'eu', 'example.com/store': '17' }, inventory: { arch: 'arm64' } }
const process = (...command: string[]): Score => ({ type: 'Process', templated: true, data: { command } })

test('texts are filled in with what the device is, and everything else stays as it is', () => {
  const manifest = {
    kind: 'ConfigMap',
    metadata: { name: '{{ .device.name }}', labels: { 'a/b': '{{ index .device.labels "example.com/store" }}' } },
    spec: { replicas: 3, on: true, none: null, args: ['--arch={{ .device.inventory.arch }}', '--x'] },
  }
  const score: Score = { type: 'KubernetesManifests', templated: true, data: { manifests: [manifest] } }
  expect(compileWorkload(score).render(till)).toMatchObject({
    score: {
      type: 'KubernetesManifests',
      data: {
        manifests: [
          {
            kind: 'ConfigMap',
            metadata: { name: 'till-1', labels: { 'a/b': '17' } },
            spec: { replicas: 3, on: true, none: null, args: ['--arch=arm64', '--x'] },
          },
        ],
      },
    },
  })
})

test('without templated, braces are what they are', () => {
  const score: Score = { type: 'Process', data: { command: ['echo', '{{ $labels.instance }}'] } }
  const workload = compileWorkload(score)
  expect([workload.isTemplated, workload.render(till)]).toEqual([false, { score, digest: workload.digest }])
})

// FLEET-35
describe('it fails closed', () => {
  test('a key that the device lacks is a problem of that device, which names the place', () => {
    const workload = compileWorkload(process('run', '--zone={{ .device.labels.zone }}'))
    expect(workload.render(till)).toEqual({
      problem:
        'spec.score.data.command[1]: there is no key "zone" in .device.labels at line 1, column 11 of the template',
    })
    expect(workload.render({ ...till, labels: { zone: 'z' } })).toMatchObject({
      score: { data: { command: ['run', '--zone=z'] } },
    })
  })

  test('index without the key is one too, unless something is to stand for it', () => {
    expect(compileWorkload(process('{{ index .device.labels "zone" }}')).render(till)).toMatchObject({
      problem: expect.stringContaining('it gives nothing'),
    })
    expect(compileWorkload(process('{{ index .device.labels "zone" | default "none" }}')).render(till)).toMatchObject({
      score: { data: { command: ['none'] } },
    })
  })

  test('what is too large when it is filled in is one too', () => {
    const big = compileWorkload(process(...Array.from({ length: 64 }, () => '{{ .device.inventory.blob }}')))
    expect(big.render({ ...till, inventory: { blob: 'x'.repeat(20_000) } })).toMatchObject({
      problem: expect.stringMatching(/^spec\.score\.data: it has \d+ bytes when it is filled in, at most/),
    })
  })
})

test.each([
  ['{{ .device.name', 'spec.score.data.command[0]: '],
  ['{{ .devise.name }}', 'spec.score.data.command[0]: there is no value .devise: did you mean device?'],
  ['{{ now }}', 'spec.score.data.command[0]: there is no function now'],
])('%s is refused for every device', (text, problem) => {
  expect(() => compileWorkload(process(text))).toThrow(problem)
})

test('the same device always gives the same workload, and only what it uses of a device matters', () => {
  const words = fc.dictionary(fc.constantFrom('a', 'b', 'zone'), fc.string({ maxLength: 5 }))
  const workload = compileWorkload(process('{{ .device.name }}', '{{ index .device.labels "zone" | default "-" }}'))
  fc.assert(
    fc.property(words, words, words, (labels, inventory, others) => {
      const digestOf = (facts: typeof till) => {
        const rendered = workload.render(facts)
        return 'digest' in rendered ? rendered.digest : rendered.problem
      }
      const first = digestOf({ ...till, labels: { ...till.labels, ...labels }, inventory: { arch: 'a', ...inventory } })
      const again = digestOf({ ...till, labels: { ...till.labels, ...labels }, inventory: { arch: 'b', ...others } })
      expect(again).toBe(first)
    }),
  )
})
