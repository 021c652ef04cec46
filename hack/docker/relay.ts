/** Runs in the network of a private engine: what comes over a unix socket goes to a port of that network's loopback. relay.ts SOCKET PORT */
import { connect, createServer } from 'node:net'

const [socket = '', port = ''] = process.argv.slice(2)

createServer({ allowHalfOpen: true }, (incoming) => {
  const outgoing = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true })
  incoming.pipe(outgoing).pipe(incoming)
  incoming.on('error', () => outgoing.destroy())
  outgoing.on('error', () => incoming.destroy())
}).listen(socket)
