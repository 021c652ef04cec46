/** Lists of labels as flags take them: keys, prefixes that end in a slash, and `*` for all. Pure. */
export const isListed = (key: string, list: readonly string[]): boolean =>
  list.some((one) => one === '*' || (one.endsWith('/') ? key.startsWith(one) : key === one))
