import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { CONTROLLERS, type ControllerName, rightsByController } from '#cmd/manager/controllers.ts'
import type { Rights } from '#operator/rights.ts'
import type { Call } from './call.ts'
import { deliveredRules, refusals } from './delivered.ts'
import { needsOf, withoutLuck } from './needs.ts'
import { callsIn, parseRecording, type Recording, recordingOf, recordingPath } from './recording.ts'
import { allows, describeRight, type RoleManifest } from './rule.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const recordingFor = (controller: string): Recording => parseRecording(readFileSync(recordingPath(controller), 'utf8'))

/** What the components of webhooks grant beyond what is recorded. */
const RARE_WITH_WEBHOOKS: readonly string[] = [
  // Where the API server can't stream what is there.
  'list secrets',
  'list validatingwebhookconfigurations.admissionregistration.k8s.io',
  // The authority is renewed once in many months.
  'update secrets',
]

const grant: Rights = {
  account: 'tester',
  testAccount: 'tester',
  role: 'tester',
  kind: 'Role',
  about: '',
  why: { widgets: 'to test' },
  rare: [{ group: 'g', resource: 'widgets', verbs: ['get'], reason: 'read anew' }],
  optional: { secrets: 'elsewhere' },
  tests: [],
}

describe('what a controller needs', () => {
  test('is what it was recorded to call, what that brings along, and what is rare, with the reasons', () => {
    const recording = { '': { secrets: ['get'] }, g: { widgets: ['watch'] }, 'events.k8s.io': { events: ['create'] } }
    expect(needsOf('tester', grant, recording)).toEqual([
      { group: 'events.k8s.io', resource: 'events', verbs: ['create', 'patch'], why: undefined },
      { group: 'g', resource: 'widgets', verbs: ['list', 'watch'], why: 'to test' },
      { group: 'g', resource: 'widgets', verbs: ['get'], why: 'read anew' },
    ])
  })

  test('a reason for what is not called is refused, so that the reasons stay true', () => {
    expect(() => needsOf('tester', grant, {})).toThrow('tester does not call widgets: take out why')
  })

  test('a recording does not depend on luck: what is had anyway is left out', () => {
    const calls = ['watch', 'list', 'get'].map((verb) => ({ group: 'g', resource: 'widgets', verb }))
    expect(recordingOf(withoutLuck(grant, calls))).toEqual({ g: { widgets: ['watch'] } })
  })
})

describe('a call that no Role allows', () => {
  const rules = deliveredRules()
  const call = (verb: string, resource: string, name?: string): Call => ({
    account: 'hyperfleet-sentinel',
    verb,
    group: 'hyperfleet.redhat.com',
    resource,
    ...(name !== undefined && { name }),
  })

  test('is named', () => {
    expect(refusals([call('watch', 'sentinelconfigs'), call('delete', 'sentinelconfigs/status', 'x')], rules)).toEqual([
      'hyperfleet-sentinel: delete sentinelconfigs.hyperfleet.redhat.com/status',
    ])
  })

  test('of an account that is not ours is not our concern', () => {
    expect(refusals([{ ...call('delete', 'sentinelconfigs'), account: 'another' }], rules)).toEqual([])
  })

  test('is one on another object than the rule names', () => {
    const rule = { apiGroups: ['g'], resources: ['r'], resourceNames: ['mine'], verbs: ['get'] }
    const of = (name?: string) => ({ account: 'a', verb: 'get', group: 'g', resource: 'r', ...(name && { name }) })
    expect([of('mine'), of('other'), of()].map((one) => allows(rule, one))).toEqual([true, false, false])
  })
})

describe.each(CONTROLLERS)('%s', (controller: ControllerName) => {
  const { optional = {}, account, testAccount } = rightsByController[controller]

  test('is allowed all that it was recorded to call, by its own Role or that of the component that it goes with', () => {
    const calls = callsIn(recordingFor(controller)).map((call) => ({ ...call, account: testAccount, name: 'any' }))
    // Components name their objects, recordings do not.
    const own = calls.filter(({ resource }) => optional[resource] === undefined)
    expect(refusals(own, deliveredRules())).toEqual([])
  })

  test.each([...new Set(Object.values(optional))].filter((file) => file.endsWith('.yaml')))(
    'is given by %s what it was recorded to call, and no more',
    (file) => {
      const granted = (loadAll(read(file)) as RoleManifest[])
        .flatMap(({ rules = [] }) => rules)
        .flatMap(({ apiGroups, resources, verbs }) =>
          apiGroups.flatMap((group) =>
            resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb }))),
          ),
        )
      const recorded = callsIn(recordingFor(controller)).filter(({ resource }) => optional[resource] === file)
      const spare = granted
        .filter((right) => !recorded.some((call) => JSON.stringify(call) === JSON.stringify(right)))
        .map(({ verb, group, resource }) => describeRight(verb, group, resource))
      expect(spare.toSorted()).toEqual(file.includes('/ha/') ? [] : RARE_WITH_WEBHOOKS)
    },
  )

  test('runs as the ServiceAccount that its rights are for, wherever it is delivered', () => {
    interface Deployment {
      readonly kind: string
      readonly spec: {
        readonly template: {
          readonly spec: { serviceAccountName: string; containers: { command?: string[]; args?: string[] }[] }
        }
      }
    }
    const accounts = globSync('kustomize/*/*.yaml', { cwd: root })
      .flatMap((file) => loadAll(read(file)) as Deployment[])
      .filter((object) => object?.kind === 'Deployment')
      .flatMap(({ spec: { template } }) =>
        template.spec.containers
          .flatMap(({ command = [], args = [] }) => [...command, ...args])
          .filter((arg) => arg.startsWith('--controllers='))
          .some((arg) => arg.slice('--controllers='.length).split(',').includes(controller))
          ? [template.spec.serviceAccountName]
          : [],
      )
    expect(accounts).toEqual([account])
  })
})
