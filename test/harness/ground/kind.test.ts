import { expect, test } from 'vitest'
import { settled } from './kind.ts'

test('what a commit declares is there when Argo CD is on it, has synced it, and says that it is healthy', () => {
  expect(settled('muster-here', 'abc').map((condition) => condition.join(' '))).toMatchInlineSnapshot(`
    [
      "applications.argoproj.io/muster-here --namespace=argocd --for=jsonpath={.status.sync.revision}=abc",
      "applications.argoproj.io/muster-here --namespace=argocd --for=jsonpath={.status.sync.status}=Synced",
      "applications.argoproj.io/muster-here --namespace=argocd --for=jsonpath={.status.health.status}=Healthy",
    ]
  `)
})
