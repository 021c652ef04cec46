import { LIB_ERRORS } from '#lib/errors/catalogue.ts'
import { errorOf } from '#lib/errors/error-of.ts'

const WORDS = {
  CONNECT_TIMEOUT: 'connecting timed out',
  ANSWER_TIMEOUT: 'no answer in time',
  BODY_TIMEOUT: 'the answer stopped coming',
} as const

/** Where an exchange was when its time was over. */
export type ExchangeEnd = keyof typeof WORDS

/** A server that does not answer, or stopped in its answer. */
export class HttpTimeout extends errorOf(LIB_ERRORS, 'HttpTimeout') {
  readonly code: ExchangeEnd
  constructor(code: ExchangeEnd) {
    super(WORDS[code])
    this.code = code
  }
}
