import { expect, test } from 'vitest'
import { tokenFile, tokenOf } from './credentials.ts'

const TOKENS = { admin: 'a1', 'kube-controller-manager': 'c1', 'kube-scheduler': 's1', kwok: 'k1' }

test("kube-apiserver's token file", () => {
  expect(tokenFile(TOKENS)).toMatchInlineSnapshot(`
    "a1,muster-admin,admin,"system:masters"
    c1,system:kube-controller-manager,kube-controller-manager
    s1,system:kube-scheduler,kube-scheduler
    k1,muster-kwok,kwok,"system:masters"
    "
  `)
})

test('a token is found again by its user', () => {
  const text = tokenFile(TOKENS)
  expect(tokenOf('admin', text)).toBe('a1')
  expect(tokenOf('kube-scheduler', text)).toBe('s1')
  expect(() => tokenOf('kwok', '')).toThrow('no line for muster-kwok')
})
