/** Compares what a page shows with what its commands print. */

/**
 * True when every line that the page shows is printed, in this order. Words are compared; figures, ages and hashes, which differ
 * each time, are not, nor how much space is between; `…` stands for anything. An address is compared as it is, but for its port: it is
 * there because the commands before ask for it.
 */
export const fits = (shown: string, printed: string): boolean => {
  const lines = printed.split('\n').map(normal)
  let from = 0
  for (const line of shown.split('\n').map(normal)) {
    const pattern = new RegExp(
      `^${line
        .split('…')
        .map((words) => RegExp.escape(words))
        .join('.*')}$`,
    )
    const at = lines.findIndex((candidate, index) => index >= from && pattern.test(candidate))
    if (at === -1) return false
    from = at + 1
  }
  return true
}

/** An IPv4 address or a range of them. */
const ADDRESS = /(?<![\d.])(\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?)(?![\d.])/

/** Split by a pattern with one group: the addresses stand at the odd places. */
const normal = (line: string): string =>
  line
    .split(ADDRESS)
    .map((part, at) => (at % 2 === 1 ? part : withoutFigures(part)))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim()

const withoutFigures = (text: string): string =>
  text
    .replaceAll(/\b[0-9a-f]{8,}\b/g, 'HASH')
    .replaceAll(/\d+/g, '0')
    .replaceAll(/(0[dhms])+/g, '0s')
