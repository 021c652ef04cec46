import { createAccount, createUser } from '@nats-io/nkeys'
import { expect, test } from 'vitest'
import { readDeviceKeys } from './users-config.ts'

const key = () => createUser().getPublicKey()

// NATS-5
test('keys of devices are read by name; what can’t be meant is left out and told', () => {
  const [pump, api, copy] = [key(), key(), key()]
  const { devices, problems } = readDeviceKeys(
    {
      pump: `${pump}\n`,
      'again-pump': pump,
      Upper: key(),
      'a.b': key(),
      none: '',
      account: createAccount().getPublicKey(),
      seed: new TextDecoder().decode(createUser().getSeed()),
      injected: `${copy}\n} { nkey: ${key()}`,
      'the-api': api,
    },
    [api],
  )
  expect([...devices.keys()]).toEqual(['again-pump'])
  expect(problems).toEqual([
    "Upper can't be the name of a device",
    "a.b can't be the name of a device",
    'account has no public key of a NATS user: it begins with U',
    'injected has no public key of a NATS user: it begins with U',
    'none has no public key of a NATS user: it begins with U',
    'pump has the key of again-pump',
    'seed has no public key of a NATS user: it begins with U',
    'the-api has the key of Muster',
  ])
})
