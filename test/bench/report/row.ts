/** One result of a bench: our figure, that of the program which it is compared with, and what we promised. */
export interface Row {
  readonly name: string
  /** Ours, or null when our side could not be measured (the bench's notes say why). */
  readonly value: number | null
  /** E.g. 'objects/s', 'ms', 'MiB', 'CPU ms/object', '% of a core'. */
  readonly unit: string
  /** Figure of the other program, measured in the same run on the same API server; null without one. */
  readonly peer: number | null
  /** Name of the other program, e.g. 'kopf 1.45.2'. A figure measured elsewhere is marked so here. */
  readonly peerName: string | null
  /** Ours divided by that. */
  readonly ratio: number | null
  readonly target: Target | null
  readonly verdict: Verdict
}

/** What the budget promises, for the value in the row's unit or for its ratio. */
export interface Target {
  readonly of: 'value' | 'ratio'
  readonly atMost?: number
  readonly atLeast?: number
}

export type Verdict = 'met' | 'missed' | 'open'

/** A figure as a bench measured it, before it is judged. */
export interface Figure {
  readonly name: string
  readonly unit: string
  readonly value: number | null
  readonly peer?: { readonly name: string; readonly value: number } | undefined
  readonly target?: Target | undefined
}

export const toRow = ({ name, unit, value, peer, target }: Figure): Row => {
  const ratio = value === null || peer === undefined || peer.value === 0 ? null : value / peer.value
  return {
    name,
    value,
    unit,
    peer: peer?.value ?? null,
    peerName: peer?.name ?? null,
    ratio,
    target: target ?? null,
    verdict: target === undefined ? 'open' : judge(target, target.of === 'value' ? value : ratio),
  }
}

const judge = ({ atMost, atLeast }: Target, measured: number | null): Verdict => {
  if (measured === null) return 'open'
  return measured <= (atMost ?? Number.POSITIVE_INFINITY) && measured >= (atLeast ?? Number.NEGATIVE_INFINITY)
    ? 'met'
    : 'missed'
}

/** `≤ 90`, `≥ 1x`: as the tables of docs/benchmarks.md write it. */
export const formatTarget = ({ of, atMost, atLeast }: Target): string => {
  const times = of === 'ratio' ? 'x' : ''
  const bounds = [
    ...(atLeast === undefined ? [] : [`≥ ${atLeast}${times}`]),
    ...(atMost === undefined ? [] : [`≤ ${atMost}${times}`]),
  ]
  return bounds.join(', ')
}
