/** One line of a Markdown table. */
export const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** A pipe would end the cell, an angle bracket would begin an HTML element. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
