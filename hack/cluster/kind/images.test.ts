import { expect, test } from 'vitest'
import { loadCommand, saveCommand } from './images.ts'

test.for([
  ['docker', 'docker save --output=/tmp/muster.tar muster:v1'],
  ['podman', 'podman save --output=/tmp/muster.tar muster:v1'],
  ['buildah', 'buildah push muster:v1 docker-archive:/tmp/muster.tar:muster:v1'],
] as const)('what %s has built becomes an archive', ([engine, command]) => {
  expect(saveCommand(engine, 'muster:v1', '/tmp/muster.tar').join(' ')).toBe(command)
})

test('an archive goes to the images that kubelet sees', () => {
  expect(loadCommand('/kind/muster.tar').join(' ')).toMatchInlineSnapshot(
    `"ctr --namespace=k8s.io images import --all-platforms --digests /kind/muster.tar"`,
  )
})
