/** Keeps the measured tables of docs/benchmarks.md: one block a bench, between two comments, all other text untouched. */

const begin = (bench: string): string => `<!-- bench:${bench} -->`
const END = '<!-- /bench -->'

export class MarkerError extends Error {
  constructor(bench: string) {
    super(`the document has no block for ${bench}: write "${begin(bench)}" and "${END}" on lines of their own`)
    this.name = 'MarkerError'
  }
}

/** The document with the bench's block replaced. @throws MarkerError when it has no such block. */
export const withBlock = (document: string, bench: string, block: string): string => {
  const start = document.indexOf(begin(bench))
  const end = document.indexOf(END, start)
  if (start === -1 || end === -1) throw new MarkerError(bench)
  return `${document.slice(0, start)}${begin(bench)}\n${block}\n${document.slice(end)}`
}
