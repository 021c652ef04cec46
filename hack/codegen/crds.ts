import { definition } from '#apis/schema/definition.ts'
import type { CustomKind } from '#apis/schema/kind.ts'
import type { GeneratedFile } from './generated.ts'
import { manifest } from './manifest.ts'

/** One CustomResourceDefinition a file, named as controller-gen names them: `<group>_<plural>.yaml`. */
export const crdFiles = (kinds: readonly CustomKind[]): GeneratedFile[] =>
  kinds.map((kind) => ({
    path: `manifests/crds/${kind.resource.group}_${kind.resource.plural}.yaml`,
    text: manifest(definition(kind)),
  }))
