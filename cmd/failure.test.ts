import { expect, test } from 'vitest'
import { KubeConfigError } from '#operator/client/kubeconfig.ts'
import { Failure, reasonOf } from './failure.ts'

test('an error of the catalogue ends a command with what to do behind its message', () => {
  expect(reasonOf(new KubeConfigError('there is no context "prod"'))).toBe(
    'there is no context "prod". To do: correct the file, or name another context',
  )
})

test('a message that a command wrote itself says what to do already, and stays one line', () => {
  expect(reasonOf(new Failure('the API server does not answer:\n  name another with --context'))).toBe(
    'the API server does not answer: name another with --context',
  )
})
