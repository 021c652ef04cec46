/** One page of a list. */
export interface ResourcePage {
  /** Not checked yet: any of them may be malformed. */
  readonly items: readonly unknown[]
  /** How many match in all, where the API says. */
  readonly total: number | undefined
  /** What the API can do beyond the common dialect: `Muster-Features`. */
  readonly features: ReadonlySet<string>
}

export type Query = Readonly<Record<string, string | undefined>>
