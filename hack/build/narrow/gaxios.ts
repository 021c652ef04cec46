/** `@dot-i/k8s-operator` sends its requests with gaxios; operator/host.ts sends all of them over our transport. */
export const instance = {
  request: (): never => {
    throw new Error('gaxios is not in the bundle: operator/host.ts replaces the methods that use it')
  },
}
