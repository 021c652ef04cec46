/** The beginning of a text that has room in so many UTF-16 units, without half a character at its end. */
export const truncateText = (text: string, room: number): string =>
  text.length <= room ? text : text.slice(0, room).replace(/[\uD800-\uDBFF]$/, '')
