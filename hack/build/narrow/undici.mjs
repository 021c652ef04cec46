/**
 * undici's connections without its fetch, WebSocket, cache, cookies, SOCKS and mocks, which the product doesn't use:
 * the bundle takes this file for `undici`. JavaScript, because a package's inner files have no types.
 */
import api from 'undici/lib/api/index.js'
import buildConnector from 'undici/lib/core/connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js'

// As undici's own index does: request(), stream() and the others are methods of every dispatcher.
Object.assign(Dispatcher.prototype, api)

export { Agent, buildConnector, Dispatcher, ProxyAgent }
