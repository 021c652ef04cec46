import { expect, test } from 'vitest'
import { loadCommand } from './images.ts'

test('an archive goes to the images that kubelet sees', () => {
  expect(loadCommand('/kind/muster.tar').join(' ')).toMatchInlineSnapshot(
    `"ctr --namespace=k8s.io images import --all-platforms --digests /kind/muster.tar"`,
  )
})
