import { setFlagsFromString } from 'node:v8'

/**
 * Keeps a process that waits most of the time small.
 *
 * undici parses HTTP in WebAssembly. V8 compiles that quickly first and again, optimised, once it has run a little; the optimising
 * compiler then keeps 14 MB for good (docs/decisions/bundle.md). A controller's answers are parsed fast enough without.
 * To be called before the first request.
 */
export const staySmall = (): void => {
  setFlagsFromString('--no-wasm-tier-up')
  setFlagsFromString('--no-wasm-dynamic-tiering')
}
