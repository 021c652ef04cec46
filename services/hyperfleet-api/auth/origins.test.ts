import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkOrigins, originsOf, qualify } from './origins.ts'

const IN_CLUSTER = 'https://kubernetes.default.svc'
const issuer = (name: string, shortName?: string) => ({ name, shortName })

/** API-155. */
describe('callers of several issuers', () => {
  test.each<[string, Parameters<typeof originsOf>[0], readonly string[]]>([
    ['one issuer qualifies nothing', [issuer(IN_CLUSTER)], ['']],
    ['one with a name qualifies all', [issuer(IN_CLUSTER, 'boston')], ['boston/']],
    [
      'those with a name by it, the other one not, wherever it stands',
      [issuer(IN_CLUSTER, 'boston'), issuer(IN_CLUSTER), issuer(IN_CLUSTER, 'chicago')],
      ['boston/', '', 'chicago/'],
    ],
    [
      'further ones without a name by what they call themselves',
      [issuer(IN_CLUSTER), issuer('https://sso.example.com/realms/fleet'), issuer('https://id.example.com/')],
      ['', 'sso.example.com/realms/fleet/', 'id.example.com/'],
    ],
  ])('%s', (_, issuers, origins) => {
    expect(originsOf(issuers)).toEqual(origins)
  })

  test.each<[string, Parameters<typeof originsOf>[0], RegExp]>([
    ['two of one name', [issuer('https://a', 'boston'), issuer('https://b', 'boston')], /two issuers are named boston/],
    ['two alike without one', [issuer(IN_CLUSTER), issuer(IN_CLUSTER)], /two issuers are https:.* without a name/],
    [
      'two further ones that differ by a slash',
      [issuer('https://a'), issuer('https://b'), issuer('https://b/')],
      /two issuers are named b/,
    ],
  ])('%s are refused', (_, issuers, message) => {
    expect(() => originsOf(issuers)).toThrow(message)
  })

  test('are never alike, whatever they are called', () => {
    // Few letters, so that names begin with others.
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 6 })
    const issuers = fc.uniqueArray(fc.record({ name: word, shortName: fc.option(word, { nil: undefined }) }), {
      minLength: 2,
      maxLength: 4,
      selector: ({ name, shortName }) => shortName ?? name,
    })
    const caller = fc.record({ of: fc.nat(), called: word })
    fc.assert(
      fc.property(issuers, caller, caller, (all, left, right) => {
        let origins: readonly string[]
        try {
          origins = originsOf(all)
        } catch {
          return fc.pre(false)
        }
        const whole = ({ of, called }: typeof left) => qualify(origins, of % origins.length, called)
        const [one, other] = [whole(left), whole(right)]
        const isSame = left.of % origins.length === right.of % origins.length && left.called === right.called
        if (!isSame && one !== undefined) expect(one).not.toBe(other)
        // What no other issuer is called is taken as it is.
        if (!left.called.includes('/') && origins[left.of % origins.length] === '') expect(one).toBe(left.called)
      }),
    )
  })
})

/** API-157. */
describe('what stands before a caller’s name', () => {
  const [A, B] = ['https://a', 'https://b']
  const check = (issuers: Parameters<typeof originsOf>[0], recorded: Readonly<Record<string, string>>) => {
    const prefixes = originsOf(issuers)
    return checkOrigins(
      issuers.map(({ name }, at) => ({ prefix: prefixes[at] ?? '', issuer: name })),
      new Map(Object.entries(recorded)),
    )
  }

  test.each<[string, Parameters<typeof originsOf>[0], Readonly<Record<string, string>>]>([
    ['an issuer is added behind', [issuer(A), issuer(B)], { '': A }],
    ['one with a name is added before', [issuer(B, 'new'), issuer(A)], { '': A }],
    ['the order is another, and it has none', [issuer(B, 'new'), issuer(A)], { '': A, 'new/': B }],
    ['it is given a name, and none is without', [issuer(A, 'old'), issuer(B, 'new')], { '': A }],
    ['nothing was recorded', [issuer(B), issuer(A)], {}],
  ])('stays: %s', (_, issuers, recorded) => {
    expect(check(issuers, recorded)).toEqual([])
  })

  test.each<[string, Parameters<typeof originsOf>[0], Readonly<Record<string, string>>, RegExp]>([
    [
      'one without a name before it',
      [issuer(B), issuer(A)],
      { '': A },
      /with nothing before .* https:\/\/b would .* name/,
    ],
    [
      'and it is given a name itself',
      [issuer(B), issuer(A, 'old')],
      { '': A },
      /callers of https:\/\/a were .* nothing/,
    ],
    ['a name is given on', [issuer(B, 'x'), issuer(A, 'y')], { 'x/': A }, /with x\/ before .* give it another name/],
  ])('is not taken by another issuer: %s', (_, issuers, recorded, message) => {
    expect(() => check(issuers, recorded)).toThrow(message)
  })

  test('is that of the next issuer where its own is listed no more', () => {
    expect(check([issuer(B)], { '': A })).toEqual([{ prefix: '', issuer: B, former: A }])
  })
})
