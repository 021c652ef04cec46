/** What pino asks of threads: ours is the main one. */
module.exports = { isMainThread: true }
