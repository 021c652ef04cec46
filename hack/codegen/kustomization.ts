import { relative } from 'node:path'
import { dump } from 'js-yaml'
import { type GeneratedFile, NOTICE } from './generated.ts'

/** Lets kustomize take generated manifests as one resource: the kustomization.yaml of a folder, with files in it or below it. */
export const kustomizationFile = (folder: string, files: readonly GeneratedFile[]): GeneratedFile => ({
  path: `${folder}/kustomization.yaml`,
  text: `# ${NOTICE}\n${dump({
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: files.map(({ path }) => relative(folder, path)),
  })}`,
})
