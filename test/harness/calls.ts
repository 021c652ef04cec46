import { copyFile, glob, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { readCalls } from '#hack/rights/audit-log.ts'
import { deliveredRules, refusals } from '#hack/rights/delivered.ts'
import { CALLED, keepCalls } from '#hack/rights/idle.ts'
import { RECORDING } from '#hack/rights/recording.ts'

/**
 * Looks at what controllers called, when a control plane of tests has stopped: each call must be one that a Role allows, whether
 * or not the controller got on without. Where a run is recorded, the calls are kept instead.
 * @param folder of the control plane
 * @throws Error that names the calls which no Role allows
 */
export const checkCalls = async (folder: string): Promise<void> => {
  const logs = await Array.fromAsync(glob('audit*.jsonl', { cwd: folder }))
  const recording = process.env[RECORDING]
  if (recording !== undefined) {
    await mkdir(recording, { recursive: true })
    for (const log of logs) await copyFile(join(folder, log), join(recording, `${basename(folder)}-${log}`))
    return
  }
  const calls = await readCalls(logs.map((log) => join(folder, log)))
  const called = process.env[CALLED]
  if (called !== undefined) await keepCalls(called, basename(folder), calls)
  const refused = refusals(calls, deliveredRules())
  if (refused.length === 0) return
  const remedy = 'take the call out, or record it with "npm run rights": docs/decisions/rights-from-calls.md'
  throw new Error(`controllers called what no Role allows, ${remedy}\n${refused.map((line) => `  ${line}`).join('\n')}`)
}
