import { expect, test } from 'vitest'
import { programName } from './program-name.ts'

test.for([
  [['/cache/bin/kube-apiserver', '--etcd-servers=x'], 'kube-apiserver'],
  [['postgres: muster postgres 127.0.0.1(4) idle'], 'postgres'],
  [['/usr/lib/postgresql/17/bin/postgres', '-D', 'data'], 'postgres'],
  [['/x/node', '--disable-warning=A', '/y/cmd/muster.ts', 'manager', '--port=1'], 'muster manager'],
  [['node', 'dist/muster.mjs', 'version'], 'muster, other commands'],
  [['/x/node', '/y/node_modules/vitest/dist/workers/forks.js'], 'test worker'],
  [['node', 'hack/run.mjs', 'hack/up/up.ts'], 'node run.mjs'],
  [['/bin/sh', '/y/reaper.sh'], 'sh'],
  [[], ''],
] as const)('%j is %s', ([args, name]) => {
  expect(programName(args)).toBe(name)
})
