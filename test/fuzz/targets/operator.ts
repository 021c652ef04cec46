import { parseReview, ReviewError } from '#operator/admission/review.ts'
import { BindingError, parseBinding } from '#operator/binding.ts'
import { MalformedLineError, parseMessage } from '#operator/client/watch.ts'
import { parseBrakeRecord } from '#operator/model/brake-record.ts'
import { DurationError, parseDuration } from '#operator/model/duration.ts'
import { formatSelector, matches, SelectorError } from '#operator/model/selector.ts'
import { parseSelector } from '#operator/model/selector-syntax.ts'
import { ofTexts, ofValues } from '../target.ts'
import { sameAgain } from './same-again.ts'

const NOW = Date.parse('2026-01-02T15:10:00Z')

/** What API servers send, and annotations, selectors and flags. */
export const OPERATOR = [
  ofTexts({
    file: 'operator/client/watch.ts',
    reads: ['parseMessage'],
    corpus: 'watch-lines',
    refuses: [MalformedLineError],
    read: (text) => void parseMessage(Buffer.from(text)),
  }),
  ofTexts({
    file: 'operator/admission/review.ts',
    reads: ['parseReview'],
    corpus: 'reviews',
    refuses: [ReviewError],
    read: (text) => void parseReview(text),
  }),
  ofValues({
    file: 'operator/admission/review.ts',
    reads: ['parseReview'],
    from: 'anyone',
    corpus: 'reviews',
    refuses: [ReviewError],
    read: (value) => void parseReview(textOf(value)),
  }),
  ofTexts({
    file: 'operator/model/selector-syntax.ts',
    reads: ['parseSelector'],
    corpus: 'selectors',
    refuses: [SelectorError],
    read(text) {
      const selector = parseSelector(text)
      matches(selector, { region: 'berlin', ring: 'canary' })
      sameAgain(parseSelector(formatSelector(selector)), selector)
    },
  }),
  ofTexts({
    file: 'operator/model/brake-record.ts',
    reads: ['parseBrakeRecord'],
    corpus: 'flags',
    refuses: [],
    read(text) {
      if (parseBrakeRecord(text, NOW).some((at) => Number.isNaN(at))) throw new TypeError('a deletion at no time')
    },
  }),
  ofTexts({
    file: 'operator/model/duration.ts',
    reads: ['parseDuration'],
    corpus: 'flags',
    refuses: [DurationError],
    read(text) {
      if (!Number.isFinite(parseDuration(text))) throw new TypeError('a duration without an end')
    },
  }),
  ofTexts({
    file: 'operator/binding.ts',
    reads: ['parseBinding'],
    corpus: 'flags',
    refuses: [BindingError],
    read: (text) => void parseBinding(text, '--flag'),
  }),
]

/** Of a value that may be deeper than JSON.stringify goes. */
const textOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '['.repeat(60_000)
  }
}
