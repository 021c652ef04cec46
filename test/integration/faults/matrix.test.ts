/** Each fault of docs/faults.md over every controller, on one control plane. */
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { CONTROLLERS } from '#cmd/manager/controllers.ts'
import { clocksAhead, clocksBehind } from './clocks.ts'
import { crdsOlder, crdsUpgraded } from './crd-upgrade.ts'
import { type Fault, holdUnder } from './fault.ts'
import { refusingWebhook, silentWebhook } from './foreign-webhook.ts'
import { laggingServer } from './lagging-server.ts'
import { quotaExceeded } from './quota.ts'
import { credentialsRotated } from './rotation.ts'
import { stuckNamespace } from './stuck-namespace.ts'
import { type FaultWorld, faultWorld, PROCESSES, STEADY, untilAsDeclared } from './world.ts'
import { etcdOfYesterday } from './yesterday.ts'

let world: FaultWorld

/** Each by what it finds in the world that it comes to. */
const FAULTS = {
  'a webhook of others refuses every object': refusingWebhook,
  'a webhook of others never answers': () => silentWebhook,
  'quotas are used up': quotaExceeded,
  'a namespace of a cluster never ends': stuckNamespace,
  'CRDs of a later release come': () => crdsUpgraded,
  'CRDs are older and drop what they do not know': () => crdsOlder,
  'clocks are an hour ahead': () => clocksAhead,
  'clocks are an hour behind': () => clocksBehind,
  'one of two API servers lags behind': () => laggingServer,
  'tokens and certificates are rotated': () => credentialsRotated,
  'etcd is put back to yesterday': () => etcdOfYesterday,
} satisfies Readonly<Record<string, (world: FaultWorld) => Fault | Promise<Fault>>>

beforeAll(async () => {
  world = await faultWorld()
}, 300_000)

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

test('every controller is in the matrix', () => {
  expect(Object.keys(PROCESSES).toSorted()).toEqual(CONTROLLERS.toSorted())
})

test('without a fault all is as declared', { timeout: 400_000 }, async () => {
  await world.declare(STEADY)
  await untilAsDeclared(world)
})

test.for(Object.entries(FAULTS))('%s', { timeout: 400_000 }, async ([title, faultIn]) => {
  onTestFailed(async () => {
    console.log((await world.missing()).join('\n'))
  })
  await untilAsDeclared(world)
  await holdUnder(world, title, await faultIn(world))
})
