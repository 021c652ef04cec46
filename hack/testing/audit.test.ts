import { expect, test } from 'vitest'
import { readAudit } from './audit.ts'

// As npm 11 prints them.
test.each([
  ['nothing', { auditReportVersion: 2, vulnerabilities: {} }, 'clean', /no dependency/],
  [
    'holes',
    {
      auditReportVersion: 2,
      vulnerabilities: { z: { name: 'z', severity: 'low' }, a: { name: 'a', severity: 'critical' } },
    },
    'holes',
    /: a \(critical\), z \(low\)$/,
  ],
  [
    'an error',
    { message: '405 Method Not Allowed', statusCode: 405, error: {} },
    'unanswered',
    /405 Method Not Allowed$/,
  ],
  ['something else', [], 'unanswered', /no list/],
])('a registry that tells %s', (_, answer, state, says) => {
  expect(readAudit(JSON.stringify(answer))).toEqual({ state, says: expect.stringMatching(says) })
})

test('a registry that is not there says so', () => {
  expect(readAudit('').state).toBe('unanswered')
})
