import { expect, test } from 'vitest'
import { CONTROLLERS, rightsByController } from '#cmd/manager/controllers.ts'
import { temporaryFolder } from '../process/folder.ts'
import type { Call } from './call.ts'
import { checkIdleRights, idleRights, keepCalls } from './idle.ts'

const recording = { '': { secrets: ['get', 'create'] }, g: { 'widgets/status': ['patch'] } }
const call = (verb: string, resource: string, account = 'own'): Call => ({
  account,
  verb,
  group: resource.startsWith('widgets') ? 'g' : '',
  resource,
})

test('what was recorded, and its account called no more, is named', () => {
  const calls = [call('get', 'secrets'), call('create', 'secrets', 'another'), call('patch', 'widgets/status')]
  expect(idleRights(recording, 'own', calls)).toEqual(['create secrets'])
  expect(idleRights(recording, 'own', [...calls, call('create', 'secrets')])).toEqual([])
})

test('a run in which a controller called nothing fails with all that it has', async () => {
  const folder = await temporaryFolder('called')
  await keepCalls(folder, 'one', [call('get', 'secrets')])
  await expect(checkIdleRights(folder)).rejects.toThrow('sentinel: watch sentinelconfigs.hyperfleet.redhat.com')
})

test('a verb that is kept on purpose says why', () => {
  const reasons = CONTROLLERS.flatMap((controller) => rightsByController[controller].rare.map(({ reason }) => reason))
  expect(reasons.filter((reason) => reason.length < 20)).toEqual([])
})
