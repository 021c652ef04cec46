import { expect, test } from 'vitest'
import { toProblem } from './to-problem.ts'

// API-99, API-47
test.each(['57014', '55P03'])(
  'a statement that PostgreSQL gave up for its time (%s) is 503 and tells nothing of it',
  (code) => {
    const error = Object.assign(new Error('canceling statement due to statement timeout: select secret'), { code })
    const { problem, status, message } = toProblem(error as unknown as Parameters<typeof toProblem>[0])
    expect([problem, status]).toEqual(['unavailable', 503])
    expect(message).not.toContain('secret')
  },
)
