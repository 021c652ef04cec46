import { expect, test } from 'vitest'
import { type Bill, billOf } from './bill.ts'
import type { Package } from './contents.ts'

const INFO = { version: '1.2.3', commit: 'abc', time: '2026-01-02T03:04:05.000Z' }

const component = (name: string) => ({
  'bom-ref': `${name}@1.0.0`,
  type: 'library',
  name,
  version: '1.0.0',
  purl: `pkg:npm/${name}@1.0.0`,
  hashes: [{ alg: 'SHA-512', content: `digest of ${name}` }],
})

const LOCKED: Bill = {
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  serialNumber: 'urn:uuid:chance',
  metadata: { timestamp: 'now' },
  components: ['shipped', 'needed', 'tool', 'runtime'].map(component),
  dependencies: [
    { ref: 'muster@1.2.3', dependsOn: ['shipped@1.0.0', 'tool@1.0.0'] },
    { ref: 'shipped@1.0.0', dependsOn: ['needed@1.0.0'] },
    { ref: 'tool@1.0.0', dependsOn: ['needed@1.0.0'] },
  ],
}

const installed = (name: string): Package => ({ name, version: '1.0.0', licence: 'MIT', folder: `/${name}` })
const packages = ['shipped', 'needed'].map(installed)

test('of all that is locked, the bill lists what is shipped, and what that needs of it', () => {
  const bill = billOf(LOCKED, { info: INFO, packages, runtime: installed('runtime') })
  expect(bill.components.map(({ name, type }) => `${type} ${name}`)).toEqual([
    'library shipped',
    'library needed',
    'platform runtime',
  ])
  expect(bill.components[0]).toEqual({ ...component('shipped'), licenses: [{ expression: 'MIT' }] })
  expect(bill.dependencies).toEqual([
    { ref: 'muster@1.2.3', dependsOn: ['shipped@1.0.0'] },
    { ref: 'shipped@1.0.0', dependsOn: ['needed@1.0.0'] },
  ])
})

test('the same contents have the same bill, and other contents another number', () => {
  const bill = (commit: string) => billOf(LOCKED, { info: { ...INFO, commit }, packages, runtime: undefined })
  expect(bill('abc')).toEqual(bill('abc'))
  expect(bill('abc').serialNumber).not.toBe(bill('def').serialNumber)
  expect(bill('abc').serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  expect(bill('abc').metadata).toMatchObject({ timestamp: INFO.time, component: { name: 'muster', version: '1.2.3' } })
})

test('what is shipped and not locked is an error', () => {
  const contents = { info: INFO, packages: [installed('stranger')], runtime: undefined }
  expect(() => billOf(LOCKED, contents)).toThrow('stranger@1.0.0 is in the bundle and not in package-lock.json')
})
