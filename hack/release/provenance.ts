import type { BuildInfo } from '#cmd/build-info.ts'

/** A file of a release, by its digest. */
export interface Artefact {
  readonly name: string
  /** Hexadecimal. */
  readonly sha256: string
}

/** A pushed image as a subject: by its name, and the digest of its manifest. @param image name@sha256:… */
export const imageSubject = (image: string): Artefact => {
  const [name = '', sha256 = ''] = image.split('@sha256:')
  return { name, sha256 }
}

/**
 * What was made of which sources, as an in-toto statement with SLSA provenance:
 * https://slsa.dev/spec/v1.0/provenance. It says nothing of where it was made, because a release is the same everywhere.
 * @param lockfile digest of package-lock.json, which pins every package by its own digest
 */
export const provenanceOf = (artefacts: readonly Artefact[], info: BuildInfo, lockfile: string) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: artefacts.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
  predicateType: 'https://slsa.dev/provenance/v1',
  predicate: {
    buildDefinition: {
      buildType: 'npm run release',
      externalParameters: { version: info.version },
      resolvedDependencies: [
        { name: 'source', digest: { gitCommit: info.commit } },
        { name: 'package-lock.json', digest: { sha256: lockfile } },
      ],
    },
    runDetails: { builder: { id: `node ${process.version}` }, metadata: { startedOn: info.time } },
  },
})
