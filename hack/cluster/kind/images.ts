/** How an image comes into a kind node that no registry serves, as data. */

/** In the node: kubelet's images are in this namespace of containerd, under their names as the manifests have them. */
export const loadCommand = (archive: string): readonly string[] => [
  'ctr',
  '--namespace=k8s.io',
  'images',
  'import',
  '--all-platforms',
  '--digests',
  archive,
]
