import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// FLEET-106
test('attack: of entries that were written under any number of names, and deleted, nothing is kept', async () => {
  const program = `
    import { setImmediate as turn } from 'node:timers/promises'
    import { desiredCodec } from ${JSON.stringify(join(import.meta.dirname, '../../../apis/fleet.nationtech.io/kv/payload.ts'))}
    import { FleetState } from ${JSON.stringify(join(import.meta.dirname, 'fleet-state.ts'))}
    const operator = new FleetState()
    const seen = []
    for (let index = 0; index < 20; index += 1) {
      const key = 'a.shop.planted-' + index
      const score = { type: 'Process', data: { command: ['x' + index] } }
      const bytes = desiredCodec.encode({ owner: { uid: 'u', created: '2026-01-01T00:00:00Z' }, revision: 1, score }, 1)
      seen.push(new WeakRef(bytes))
      operator.desiredSeen({ key, bytes, revision: 2 * index + 1 })
      operator.desiredSeen({ key, bytes: undefined, revision: 2 * index + 2 })
      operator.takeWrites()
    }
    for (let i = 0; i < 3; i++) { await turn(); gc() }
    console.log(JSON.stringify([seen.filter((one) => one.deref() !== undefined).length, operator.keyCount]))`
  const flags = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module']
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', program], {
    cwd: import.meta.dirname,
  })
  expect(JSON.parse(stdout)).toEqual([0, 0])
})
