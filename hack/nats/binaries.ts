import { moduleVersion } from '../gobuild/module-version.ts'
import type { BinarySet } from '../gobuild/set.ts'

/** The minor release that kustomize/base/nats names; `CONTROL_PLANE` has the newest, for tests whose servers are processes. */
export const DELIVERED_NATS = {
  title: 'NATS as it is delivered',
  name: 'nats',
  module: import.meta.dirname,
  version: moduleVersion(import.meta.dirname, 'github.com/nats-io/nats-server/v2'),
  packages: { 'nats-server': 'github.com/nats-io/nats-server/v2' },
  flags: ['-trimpath', '-ldflags', '-s -w'],
} as const satisfies BinarySet
