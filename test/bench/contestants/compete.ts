import { asError } from '#operator/model/outcome.ts'
import type { BenchContext } from '../definition.ts'
import { median } from '../measure/statistics.ts'
import type { Figure, Target } from '../report/row.ts'
import { formatNumber } from '../report/table.ts'
import type { Contestant } from './contestant.ts'

export interface Contest<Name extends string> {
  /** What is being done, for progress lines. */
  readonly label: string
  /** The machine is noisy: contestants take turns, and the median of the rounds counts. */
  readonly rounds: number
  readonly measure: (contestant: Contestant) => Promise<Readonly<Record<Name, number>>>
}

/**
 * The figures of one measure, one a peer: our median beside the peer's. A target for a ratio holds against the first peer
 * (controller-runtime) alone.
 */
export type Compare<Name extends string> = (
  name: Name,
  label: string,
  unit: string,
  target?: Target,
) => readonly Figure[]

/** Lets the contestants take turns. One that fails leaves the contest with a note. */
export const compete = async <Name extends string>(
  playing: readonly Contestant[],
  { say, note }: BenchContext,
  { label, rounds, measure }: Contest<Name>,
): Promise<Compare<Name>> => {
  const results = new Map(playing.map((contestant) => [contestant, [] as Readonly<Record<Name, number>>[]]))
  for (let round = 1; round <= rounds; round++) {
    // Another one begins each round: what one leaves behind in the API server must not always hit the same next one.
    const order = playing.map((_, index) => playing[(index + round - 1) % playing.length] as Contestant)
    for (const contestant of order) {
      const measured = results.get(contestant)
      if (measured === undefined) continue
      try {
        const result = await measure(contestant)
        measured.push(result)
        say(`${label}, round ${round} of ${rounds}, ${contestant.name}: ${formatResult(result)}`)
      } catch (error) {
        results.delete(contestant)
        note(`${label}: ${contestant.name} failed and is left out: ${asError(error).message}`)
      }
    }
  }
  return (name, figureName, unit, target) => {
    const value = (contestant: Contestant): number =>
      median((results.get(contestant) ?? []).map((result) => result[name]))
    const ours = [...results.keys()].find(({ id }) => id === 'muster')
    const peers = [...results.keys()].filter(({ id }) => id !== 'muster')
    const figure = { name: figureName, unit, value: ours === undefined ? null : value(ours) }
    if (peers.length === 0) return [{ ...figure, target }]
    return peers.map((peer, index) => ({
      ...figure,
      peer: { name: peer.name, value: value(peer) },
      target: index === 0 ? target : undefined,
    }))
  }
}

const formatResult = (result: Readonly<Record<string, number>>): string =>
  Object.entries(result)
    .map(([name, value]) => `${name} ${formatNumber(value)}`)
    .join(', ')
