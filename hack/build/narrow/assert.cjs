/** What pino's destination asks of `assert`, which would bring what compares and prints values. */
module.exports = (holds, message) => {
  if (!holds) throw new Error(message)
}
