/** HTTP/2 of Fastify, which our servers never ask for (`http2: true`): without it, Node's own HTTP/2 stays unloaded. */
const absent = (): never => {
  throw new Error('HTTP/2 is not in the bundle: leave http2 out of the options of Fastify')
}

export { absent as createSecureServer, absent as createServer }
