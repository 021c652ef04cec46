/**
 * The proxy agents of client-node's kubeconfig. Our transport has its own (undici's ProxyAgent) and asks the kubeconfig for
 * credentials only, with the proxy taken out (operator/client/credentials.ts).
 */
class Absent {
  constructor() {
    throw new Error('proxy agents of @kubernetes/client-node are not in the bundle')
  }
}

export { Absent as HttpProxyAgent, Absent as HttpsProxyAgent, Absent as SocksClient, Absent as SocksProxyAgent }
