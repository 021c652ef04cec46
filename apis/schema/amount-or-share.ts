import Type, { type TUnsafe } from 'typebox'

/** How many of something: a number, or a share such as `25%`. */
export type AmountOrShare = number | `${number}%`

/** A number from 1 on, or a share from 1% to 100%. Kubernetes: IntOrString, as in maxUnavailable. */
export const amountOrShare = (options: { description: string }): TUnsafe<AmountOrShare> =>
  Type.Unsafe<AmountOrShare>({
    'x-kubernetes-int-or-string': true,
    minimum: 1,
    pattern: '^([1-9]|[1-9][0-9]|100)%$',
    ...options,
  })
