/**
 * The proxy agents of client-node's kubeconfig, and undici, which its generated clients ask with. Our transport has its own
 * connections (lib/http) and asks the kubeconfig for credentials only, with the proxy taken out (operator/client/credentials.ts).
 */
class Absent {
  constructor() {
    throw new Error('proxy agents and clients of @kubernetes/client-node are not in the bundle')
  }
}

export {
  Absent as Agent,
  Absent as HttpProxyAgent,
  Absent as HttpsProxyAgent,
  Absent as ProxyAgent,
  Absent as SocksClient,
  Absent as SocksProxyAgent,
}
