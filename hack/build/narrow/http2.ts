/** undici's HTTP/2 client, which our transport never asks for (`allowH2: false`): without it, Node's own HTTP/2 stays unloaded. */
export default (): never => {
  throw new Error('HTTP/2 is not in the bundle: set allowH2 to false')
}
