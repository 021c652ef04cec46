import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { muster } from './run.ts'

const samples = join(import.meta.dirname, '../../../kustomize/samples/fleet')
const devices = join(samples, 'devices.yaml')
const rollout = (name: string) => join(samples, 'rollouts', name)
const preview = (deployment: string, ...more: readonly string[]) =>
  muster(['fleet', 'preview', '--deployment', deployment, '--devices', devices, ...more])

test('every sample can be looked at, and 1 says that some device would get nothing', async () => {
  const names = (await readdir(join(samples, 'rollouts'))).filter((name) => name !== 'kustomization.yaml')
  const codes = await Promise.all(names.toSorted().map(async (name) => [name, (await preview(rollout(name))).code]))
  expect(codes).toEqual([
    ['all-at-once.yaml', 0],
    ['approval.yaml', 0],
    ['batches.yaml', 1],
  ])
})

test('people see batches, what each device gets, and the key that one lacks; programs get JSON', async () => {
  const { output } = await preview(rollout('batches.yaml'))
  expect(output).toContain('batch 1 of 3: 1 device\n  till-1\n    gets: {')
  expect(output).toContain('till-3\n    fails: spec.score.data.env.STORE: there is no key "store" in .device.labels')
  const json = JSON.parse((await preview(rollout('all-at-once.yaml'), '--output=json')).output) as object
  expect(json).toMatchObject({
    deployment: 'default/till-agent',
    batches: [3],
    devices: [{ device: 'lab-1' }, {}, {}, {}],
  })
})

test('what the operator would refuse ends with 2, the place, and what to write', async () => {
  const file = join(await temporaryFolder('preview'), 'deployment.yaml')
  const refused = async (from: string, to: string) => {
    await writeFile(file, (await readFile(rollout('approval.yaml'), 'utf8')).replace(from, to))
    const { code, output } = await preview(file)
    return `${code} ${output.replace(file, 'FILE')}`
  }
  expect(await refused('orValue', 'orValu')).toContain(
    '2 muster: --deployment: FILE: spec.targetExpression: there is no function orValu: did you mean orValue?',
  )
  expect(await refused('limit: 1', 'limit: 0')).toBe(
    '2 muster: --deployment: FILE, object 1: spec.rollout.batches.0.limit must be >= 1',
  )
  expect(await refused('kind: Deployment', 'kind: Device')).toBe(
    '2 muster: --deployment: FILE, object 1 is no Deployment of fleet.nationtech.io/v1alpha1',
  )
})
