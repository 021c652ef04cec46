import { describe, expect, test } from 'vitest'
import { parsePin, withPins } from './images.ts'

const A = `sha256:${'a'.repeat(64)}`
const ZEROS = `sha256:${'0'.repeat(64)}`

const overlay = `# What production runs.
components:
  - ../../components/argocd
# By digest.
images:
  - name: quay.io/hyperfleet/muster
    digest: ${ZEROS}
  - name: docker.io/library/nats
    digest: ${ZEROS}
`

test('the image that is named gets its digest, and everything else stays as it is', () => {
  const pinned = withPins(overlay, [parsePin(`muster=quay.io/hyperfleet/muster@${A}`)])
  expect(pinned).toBe(overlay.replace(ZEROS, A))
})

test('an image from another registry gets its new name', () => {
  const pinned = withPins(overlay, [parsePin(`nats=registry.example.com:5000/mirror/nats@${A}`)])
  expect(pinned.split('\n').slice(-4, -1).join('\n')).toBe(`  - name: docker.io/library/nats
    newName: registry.example.com:5000/mirror/nats
    digest: ${A}`)
})

test('going back to the registry of the manifests takes the new name away', () => {
  const moved = withPins(overlay, [parsePin(`nats=registry.example.com/nats@${A}`)])
  expect(withPins(moved, [parsePin(`nats=docker.io/library/nats@${A}`)])).not.toContain('newName')
})

test('an overlay that runs its images by tag gets the digest of the one that is named', () => {
  expect(withPins('resources: []\n', [parsePin(`nats=docker.io/library/nats@${A}`)])).toBe(`resources: []
images:
  - name: docker.io/library/nats
    digest: ${A}
`)
})

describe('what can’t be meant is refused', () => {
  test.each([
    'muster',
    'muster=quay.io/hyperfleet/muster:v0.1.0',
    `quay.io/hyperfleet/muster@${A}`,
    `muster=quay.io/hyperfleet/muster@${ZEROS}`,
    'muster=quay.io/hyperfleet/muster@sha256:abc',
  ])('%s', (argument) => {
    expect(() => parsePin(argument)).toThrow('write NAME=IMAGE@sha256:DIGEST')
  })

  test('an image that the overlay does not name', () => {
    expect(() => withPins(overlay, [parsePin(`mustard=example.com/mustard@${A}`)])).toThrow(
      'there is no image mustard in it (valid: muster, nats)',
    )
  })

  test('an overlay with something after its images', () => {
    expect(() => withPins(`${overlay}namePrefix: x-\n`, [])).toThrow('move namePrefix before it')
  })
})
