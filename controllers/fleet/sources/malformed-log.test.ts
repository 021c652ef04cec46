import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { manualClock, recorder } from '#test/harness/index.ts'
import { createFleetMetrics } from '../metrics.ts'
import { MalformedLog } from './malformed-log.ts'

// FLEET-101
test('of a device that writes malformed entries without end one line a minute is written, others are told, and all are counted', async () => {
  const lines: string[] = []
  const registry = new Registry()
  const clock = manualClock()
  const log = new MalformedLog('states', createFleetMetrics(registry), clock, recorder(lines))
  const entry = new MalformedEntry('Headers', 'x'.repeat(5_000))
  for (let n = 0; n < 1_000; n += 1) log.tell(`thief.shop.${'y'.repeat(3_000)}`, entry)
  log.tell('honest.shop.web', entry)
  expect(lines.map((line) => /"key":"(\w+)/.exec(line)?.[1])).toEqual(['thief', 'honest'])
  for (const line of lines) expect(line.length).toBeLessThan(700)
  expect(lines[1]).toContain('"untold":999')

  await clock.advance(60_000)
  log.tell('thief.shop.web', entry)
  expect(lines).toHaveLength(3)
  for (let n = 0; n < 1_000; n += 1) log.tell(`thief-${n}.shop.web`, entry)
  expect(lines.length).toBeLessThanOrEqual(102)
  expect(await registry.getSingleMetricAsString('muster_fleet_malformed_entries_total')).toContain(
    '{bucket="states",reason="Headers"} 2002',
  )
})
