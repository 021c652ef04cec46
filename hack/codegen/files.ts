import { customKinds } from '#apis/kinds.ts'
import { apiErrorsFile } from './api-errors.ts'
import { argoSettingsFile } from './argocd.ts'
import { rightsFiles } from './controller-rights.ts'
import { crdFiles } from './crds.ts'
import { errorsFile } from './errors.ts'
import { flagsFile } from './flags.ts'
import type { GeneratedFile } from './generated.ts'
import { kustomizationFile } from './kustomization.ts'
import { referenceFile } from './reference.ts'
import { peopleRolesFile } from './roles.ts'
import { taskLanguageFile } from './task-language.ts'

/** Everything that `npm run codegen` writes. */
export const generatedFiles = (): GeneratedFile[] => {
  const kinds = customKinds()
  const crds = crdFiles(kinds)
  const argo = argoSettingsFile(kinds)
  return [
    ...crds,
    // Beside the folder of the CRDs and not in it: there, `kubectl apply -f` would read it too.
    kustomizationFile('manifests', crds),
    referenceFile(kinds),
    flagsFile(),
    apiErrorsFile(),
    errorsFile(),
    taskLanguageFile(),
    peopleRolesFile(kinds),
    ...rightsFiles(kinds),
    argo,
    kustomizationFile('manifests/argocd', [argo]),
  ]
}
