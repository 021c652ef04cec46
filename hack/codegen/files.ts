import { customKinds } from '#apis/kinds.ts'
import { crdFiles } from './crds.ts'
import type { GeneratedFile } from './generated.ts'

/** Everything that `npm run codegen` writes. */
export const generatedFiles = (): GeneratedFile[] => {
  const kinds = customKinds()
  return [...crdFiles(kinds)]
}
