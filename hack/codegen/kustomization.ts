import { basename } from 'node:path'
import { dump } from 'js-yaml'
import { type GeneratedFile, NOTICE } from './generated.ts'

/** Lets kustomize take the CRDs as one resource. Beside their folder and not in it: there, `kubectl apply -f` would read it too. */
export const kustomizationFile = (crds: readonly GeneratedFile[]): GeneratedFile => ({
  path: 'manifests/kustomization.yaml',
  text: `# ${NOTICE}\n${dump({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: crds.map(({ path }) => `crds/${basename(path)}`),
  })}`,
})
