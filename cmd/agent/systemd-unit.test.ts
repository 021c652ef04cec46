import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import { SYSTEMD } from '#hack/systemd/missing.ts'
import { NEEDED_CAPABILITIES } from '#services/agent/process/find-missing-rights.ts'
import { type AgentUnit, systemdUnit } from './systemd-unit.ts'

const UNIT: AgentUnit = {
  device: 'pump-17',
  program: [process.execPath, '/opt/muster/muster.mjs'],
  args: ['--nats-url=tls://nats.example:4222', { flag: '--nats-credentials', secret: 'nats' }],
  user: 'root',
  capabilities: NEEDED_CAPABILITIES,
  secrets: { nats: '/etc/muster-agent/nats' },
}

// AGENT-30
test('the secrets are handed over by systemd, and programs are not stopped with the service', () => {
  const lines = systemdUnit(UNIT).split('\n')
  expect(lines).toContain(
    `ExecStart=${process.execPath} /opt/muster/muster.mjs agent --nats-url=tls://nats.example:4222 --nats-credentials=%d/nats`,
  )
  expect(lines).toContain('LoadCredential=nats:/etc/muster-agent/nats')
  expect(lines).toContain('KillMode=process')
})

// AGENT-44
test('the service has the rights that accounts for programs need, and no others; without such accounts it has those of its user', () => {
  const rights = 'CAP_CHOWN CAP_DAC_OVERRIDE CAP_KILL CAP_SETGID CAP_SETUID CAP_SETPCAP'
  const linesOf = (more: Partial<AgentUnit>) => systemdUnit({ ...UNIT, ...more }).split('\n')
  expect(linesOf({})).toEqual(expect.arrayContaining([`CapabilityBoundingSet=${rights}`, 'NoNewPrivileges=yes']))
  expect(systemdUnit(UNIT)).not.toContain('Ambient')
  expect(linesOf({ user: 'pump' })).toContain(`AmbientCapabilities=${rights}`)
  expect(systemdUnit({ ...UNIT, capabilities: undefined })).not.toMatch(/Capabilit|NoNewPrivileges/)
})

test('what systemd would fill in or part is written so that it stays one word', () => {
  const [, line] = /^ExecStart=(.*)$/m.exec(systemdUnit({ ...UNIT, program: ['/opt/a b/100%/$x'], args: [] })) ?? []
  expect(line).toBe('"/opt/a b/100%%/$$x" agent')
})

test.skipIf(SYSTEMD.missing() !== undefined)('systemd takes the unit without a word', async () => {
  const path = join(await temporaryFolder('unit'), 'muster-agent.service')
  writeFileSync(path, systemdUnit(UNIT))
  expect(execFileSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })).toBe('')
})
