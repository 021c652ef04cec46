import type { WatchProblem } from '#operator/operator.ts'

/** What an operator's user can do about objects that can't be read; undefined when it should pass by itself. */
export const remedy = ({ reason, resource }: WatchProblem): string | undefined => {
  switch (reason) {
    case 'NotInstalled':
      return 'run "muster crds | kubectl apply --server-side -f -"'
    case 'Forbidden':
      return `let our account get, list and watch ${resource.plural}.${resource.group}, as the Roles in kustomize/base/rbac do`
    case 'Unreachable':
      return undefined
  }
}
