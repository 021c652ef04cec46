import type { FastifyRequest } from 'fastify'
import type { AbortScope } from '#lib/abort/abort-scope.ts'
import type { Problem } from '../problems/problem.ts'
import type { Caller } from './access-control.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Ends when the caller is gone, when the server stops, and, of an operation that lasts, with the caller's token. */
    lifetime: AbortScope
    /** Set as soon as the caller is known. */
    caller: Caller | undefined
    /** What the request was refused or failed with. */
    problem: Problem | undefined
    /** Id of what the request made. */
    createdId: string | undefined
    /** Gives back the room of its body, which is given back with the answer in any case. */
    giveBodyRoomBack: (() => void) | undefined
    /** Gives back the room of its answer while that is made. */
    giveAnswerRoomBack: (() => void) | undefined
  }
}

/** What is kept with a request besides what Fastify knows of it. */
export const REQUEST_FIELDS = [
  'lifetime',
  'caller',
  'problem',
  'createdId',
  'giveBodyRoomBack',
  'giveAnswerRoomBack',
] as const

/** Without the query, which is the caller's own business. */
export const pathOf = ({ url }: Pick<FastifyRequest, 'url'>): string => url.split('?', 1)[0] ?? ''
