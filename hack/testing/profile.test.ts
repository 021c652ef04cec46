import { expect, test } from 'vitest'
import { describeProfile } from './profile.ts'

test('a profile names the most expensive files and programs, and what no process was seen doing', () => {
  const files = [
    { file: 'a.test.ts', seconds: 20, loading: 1, cost: { own: 2, children: 3.25 } },
    { file: 'b.test.ts', seconds: 10, loading: 2, cost: { own: 4, children: 12 } },
    { file: 'broken.test.ts', seconds: 1, loading: 1, cost: undefined },
  ]
  const programs = [
    { name: 'kube-apiserver', processes: 2, coreSeconds: 14 },
    { name: 'test runner', processes: 1, coreSeconds: 3 },
    { name: 'sleep', processes: 9, coreSeconds: 0 },
  ]
  expect(describeProfile({ files, programs, busy: 30, cores: 2, seconds: 90 })).toMatchInlineSnapshot(`
    [
      "in 1.5 minutes the machine was busy for 0.5 of 3.0 core-minutes; of 30 s in 2 files, 3.0 s went by while modules were loaded, 15 s without work of the file's own processes",
      "core-seconds by program:",
      "      14  kube-apiserver (2 processes, 7.0 each)",
      "     3.0  test runner",
      "      13  programs that ended between two looks, and what is not ours",
      "the 2 most expensive files: core-seconds (of its process + of those it started), seconds",
      "      16  (4.0 + 12), 10 s  b.test.ts",
      "     5.3  (2.0 + 3.3), 20 s  a.test.ts",
    ]
  `)
})
