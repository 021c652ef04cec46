/** What two policies say of the same thing, they say in the same words: a policy can't use another one's. */
import { readFileSync } from 'node:fs'
import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'

interface Policy {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly variables?: readonly { readonly name: string; readonly expression: string }[] }
}

const variablesOf = (file: string, policy: string): Readonly<Record<string, string>> => {
  const policies = loadAll(readFileSync(`kustomize/base/policies/${file}`, 'utf8')) as Policy[]
  const found = policies.find(({ metadata }) => metadata.name === policy)
  return Object.fromEntries((found?.spec.variables ?? []).map(({ name, expression }) => [name, expression]))
}

const SAME = ['before', 'after', 'steps', 'asks', 'isSuspended', 'settings']

// GITOPS-38, GITOPS-39. The rollout alone differs: people's policy looks at Deployments, that of commits at other kinds as well.
test('the steps and settings of a rollout are the same to the policy of people and to that of commits', () => {
  const people = variablesOf('rollout-steps.yaml', 'muster-rollout-steps')
  const commits = variablesOf('declared.yaml', 'muster-declared')
  expect(Object.keys(people)).toEqual(expect.arrayContaining(SAME))
  for (const name of SAME) expect(commits[name]).toBe(people[name])
})
