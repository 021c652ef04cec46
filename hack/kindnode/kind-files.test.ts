import { expect, test } from 'vitest'
import { imagesIn, storageManifestIn } from './kind-files.ts'

const SOURCE = `package nodeimage

const provisioner = "docker.io/kindest/provisioner:v2"
const helper = "docker.io/kindest/helper:v1"

// image we need to preload
var images = []string{provisioner, helper}

const defaultStorageManifest = \`
apiVersion: apps/v1
containers:
- image: \` + provisioner + \`
  command:
  - --helper-image
  - \` + helper + \`
\`
`

test('the manifest of the storage class is read from the sources of kind, with the images that it names', () => {
  const manifest = storageManifestIn(SOURCE)
  expect(manifest).toMatchInlineSnapshot(`
    "apiVersion: apps/v1
    containers:
    - image: docker.io/kindest/provisioner:v2
      command:
      - --helper-image
      - docker.io/kindest/helper:v1
    "
  `)
  expect(imagesIn(manifest)).toEqual(['docker.io/kindest/provisioner:v2', 'docker.io/kindest/helper:v1'])
})

test('sources that keep it elsewhere are told apart from an empty manifest', () => {
  expect(() => storageManifestIn('package nodeimage')).toThrow('kind keeps the manifest of its storage class elsewhere')
})
