/** How an image comes into a kind node that no registry serves, as data. */

/** What an engine has built, as an archive that containerd reads. */
export const saveCommand = (engine: string, tag: string, archive: string): readonly string[] =>
  engine === 'buildah'
    ? [engine, 'push', tag, `docker-archive:${archive}:${tag}`]
    : [engine, 'save', `--output=${archive}`, tag]

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
