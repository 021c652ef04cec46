import fc from 'fast-check'
import { expect, test } from 'vitest'
import { consumerRequestsOf, inboxOf, readConsumerRequest } from './device-consumer.ts'

const CREATE = 'muster.fleet.consumers.CREATE.KV_fleet-desired'
const asked = (subject: string, config: unknown) => readConsumerRequest(subject, () => ({ config }))

// NATS-8
test('a device asks for its consumer by the subject that its permissions allow, and is told by its inbox', () => {
  expect(consumerRequestsOf('pump')).toEqual([
    `${CREATE}.*.$KV.fleet-desired.pump.>`,
    'muster.fleet.consumers.DELETE.KV_fleet-desired.*',
  ])
  const request = { verb: 'Create', device: 'pump', deliverSubject: '_INBOX.pump.one' }
  expect(asked(`${CREATE}.pump.$KV.fleet-desired.pump.>`, { deliver_subject: '_INBOX.pump.one' })).toEqual(request)
  // The name in it is not what counts, nor what the body says of filters.
  const other = { deliver_subject: '_INBOX.pump.one', name: 'tank', filter_subject: '$KV.fleet-desired.tank.>' }
  expect(asked(`${CREATE}.tank.$KV.fleet-desired.pump.>`, other)).toEqual(request)
  expect(asked('muster.fleet.consumers.DELETE.KV_fleet-desired.pump', undefined)).toEqual({ verb: 'Delete' })
})

// NATS-8
test('whatever the body is, a consumer delivers to the inbox of the device that the subject names, or there is none', () => {
  const subject = fc.constantFrom(
    '_INBOX.pump.one',
    '_INBOX.tank.one',
    '_INBOX.pump.>',
    '_INBOX.pump.*',
    '_INBOX.pump.a.b',
    '_INBOX.pump.a.1',
    '_INBOX.pump.',
    '_INBOX.pump',
    '_INBOX.pump.one\r\nPUB x 0',
    '$KV.fleet-state.tank.shop.web',
    '$JS.API.CONSUMER.RESET.KV_fleet-desired.tank',
  )
  const body = fc.oneof(
    fc.jsonValue(),
    fc.record({ config: fc.jsonValue() }),
    fc.record({ config: fc.record({ deliver_subject: fc.oneof(subject, fc.string()) }) }),
  )
  fc.assert(
    fc.property(fc.constantFrom('pump', 'tank'), body, (device, value) => {
      const request = readConsumerRequest(`${CREATE}.x.$KV.fleet-desired.${device}.>`, () => value)
      expect(request.verb).toMatch(/^(Create|Refuse)$/)
      if (request.verb !== 'Create') return
      expect(request.device).toBe(device)
      expect(request.deliverSubject).toMatch(new RegExp(`^${inboxOf(device)}\\.[A-Za-z0-9_-]+(\\.[0-9]+)?$`))
    }),
  )
})

// NATS-8
test.each([
  `${CREATE}.x.$KV.fleet-desired.>`,
  `${CREATE}.x.$KV.fleet-desired.*.>`,
  `${CREATE}.x.$KV.fleet-desired.pump.shop`,
  `${CREATE}.x.$KV.fleet-state.pump.>`,
  `${CREATE}.$KV.fleet-desired.pump.>`,
  `${CREATE}.x`,
  'muster.fleet.consumers.INFO.KV_fleet-desired.x',
  'muster.fleet.consumers.DELETE.KV_fleet-state.x',
])('%s is refused', (subject) => {
  expect(asked(subject, { deliver_subject: '_INBOX.pump.one' }).verb).toBe('Refuse')
  const unreadable = () => {
    throw new SyntaxError('no JSON')
  }
  expect(readConsumerRequest(subject, unreadable).verb).toBe('Refuse')
})
