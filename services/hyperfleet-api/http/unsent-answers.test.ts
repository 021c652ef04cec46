import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '#operator/model/clock.ts'
import { createRoom } from '../storage/room.ts'
import { createUnsentAnswers } from './unsent-answers.ts'

const MIB = 1024 * 1024
const SIZE = 2 * MIB
const responses = (count: number) =>
  Array.from({ length: count }, () => new ServerResponse(new IncomingMessage(new Socket())))
const destroyed = (of: readonly ServerResponse[]) => of.map((response) => response.destroyed)

// API-205
test('attack: answers that are longer than they were taken for: the caller that has the most loses its oldest ones, another none', () => {
  const answers = createUnsentAnswers(createRoom(SIZE, systemClock), SIZE)
  const [greedy, modest] = [responses(8), responses(1)]
  for (const response of modest) answers.add(response, MIB, 'modest', true)
  for (const response of greedy) answers.add(response, MIB, 'greedy', true)
  expect(destroyed(modest)).toEqual([false])
  expect(destroyed(greedy)).toEqual([true, true, true, false, false, false, false, false])
  for (const response of [...greedy, ...modest]) response.emit('close')
  expect(answers.bytesInUse).toBe(0)
})

test('a single answer is sent, however long it is, and short ones are not counted', () => {
  const answers = createUnsentAnswers(createRoom(SIZE, systemClock), SIZE)
  const [long, ...short] = responses(9)
  answers.add(long as ServerResponse, 100 * MIB, 'a', true)
  for (const response of short) answers.add(response, 1_000, 'b', true)
  expect(destroyed([long as ServerResponse, ...short])).toEqual(Array(9).fill(false))
  expect(answers.bytesInUse).toBe(100 * MIB)
})

// API-205
test('so many answers are made at a time as have room, and one caller leaves room for others', async () => {
  const answers = createUnsentAnswers(createRoom(SIZE, systemClock), SIZE)
  const begun: string[] = []
  const begin = (of: ServerResponse, caller: string) =>
    answers.begin(of, caller, 60_000).then((giveBack) => {
      begun.push(caller)
      return giveBack
    })
  const [first, ...others] = responses(50).map((response) => begin(response, 'a'))
  await begin(responses(1)[0] as ServerResponse, 'b')
  expect(begun).toEqual(['a', 'a', 'a', 'a', 'b'])
  const giveBack = await first
  giveBack?.()
  giveBack?.()
  await others[3]
  expect(begun.length).toBe(6)
})

// API-205
test('attack: strangers ask for long documents of the API for ever, and take nothing: no one waits for room because of them', async () => {
  const answers = createUnsentAnswers(createRoom(SIZE, systemClock), SIZE)
  const documents = responses(8)
  for (const response of documents) answers.add(response, MIB, 'strangers', false)
  expect(destroyed(documents)).toEqual([true, true, false, false, false, false, false, false])
  const begun = responses(1)[0] as ServerResponse
  expect(await answers.begin(begun, 'a', 60_000)).toBeDefined()
})
