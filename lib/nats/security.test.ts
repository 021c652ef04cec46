import { createUser } from '@nats-io/nkeys'
import { expect, test } from 'vitest'
import { authenticatorIn } from './security.ts'

// NATS-23
test('attack: a server has a client sign what is no nonce, such as what another verifies; it signs nothing', () => {
  const seed = new TextDecoder().decode(createUser().getSeed())
  const sign = authenticatorIn(seed)
  expect(sign?.('PXoWU7zWAMt75FY')).toMatchObject({ sig: expect.stringMatching(/^[\w+/-]{80,}/) })
  for (const nonce of ['muster fleet-info 1\npump\n9\n{}', 'a b', 'x'.repeat(65), '{}'])
    expect(sign?.(nonce)).toBeUndefined()
})
