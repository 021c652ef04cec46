import { moduleVersion } from '../gobuild/module-version.ts'
import type { BinarySet } from '../gobuild/set.ts'

/** Argo CD's own programs compare it with one another. */
export const ARGOCD_VERSION = moduleVersion(import.meta.dirname, 'github.com/argoproj/argo-cd/v3')
const KUSTOMIZE_VERSION = moduleVersion(import.meta.dirname, 'sigs.k8s.io/kustomize/kustomize/v5')

/** Argo CD (one program, whose part is chosen by ARGOCD_BINARY_NAME) and the kustomize that its repo-server calls. */
export const ARGOCD = {
  title: 'Argo CD',
  name: 'argocd',
  module: import.meta.dirname,
  version: ARGOCD_VERSION,
  packages: {
    argocd: 'github.com/argoproj/argo-cd/v3/cmd',
    kustomize: 'sigs.k8s.io/kustomize/kustomize/v5',
  },
  flags: [
    '-trimpath',
    '-ldflags',
    `-s -w -X github.com/argoproj/argo-cd/v3/common.version=${ARGOCD_VERSION.slice(1)} -X sigs.k8s.io/kustomize/api/provenance.version=${KUSTOMIZE_VERSION}`,
  ],
} as const satisfies BinarySet
