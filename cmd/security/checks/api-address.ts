/** What is said to the HyperFleet API can be read and changed by no one on the way: it serves HTTPS, and is named so. SECURITY-28. */
import { LINES } from '../lines.ts'
import { type Check, defineCheck, NAMESPACE, nameOf } from '../model.ts'
import { settingOf, settingsCheck } from './setting.ts'

/** The Service of the install, by any of its names in the cluster. */
const OURS = new RegExp(`^http://hyperfleet-api(\\.${NAMESPACE}(\\.svc(\\.cluster\\.local)?)?)?(:\\d+)?(/|$)`, 'i')

const LOOPBACK = /^http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:|\/|$)/i

const TODO = `write https://hyperfleet-api.${NAMESPACE}.svc.cluster.local`

const addresses = defineCheck('api-addresses', ['AdapterTask', 'SentinelConfig'], (objects) =>
  (['AdapterTask', 'SentinelConfig'] as const).flatMap((kind) =>
    objects[kind].flatMap(({ metadata, spec }) => {
      const url = spec.hyperfleetAPI?.url
      if (url === undefined || !OURS.test(url)) return []
      return [
        {
          line: LINES.apiTraffic,
          where: nameOf(kind, metadata),
          what: `it names the API by ${url}, without TLS, which the next release no longer takes for it`,
          todo: TODO,
        },
      ]
    }),
  ),
)

const clients = settingsCheck('api-clients', ['manager'], (container) => {
  const url = settingOf(container, 'hyperfleetApiUrl')
  if (url === undefined || !/^http:/i.test(url) || LOOPBACK.test(url)) return undefined
  return {
    line: LINES.apiTraffic,
    what: `it speaks to ${url} without TLS, and shows its token to any server that answers`,
    todo: `${TODO}, and --hyperfleet-api-ca, as kustomize/adapter has it`,
  }
})

const server = settingsCheck('api-https', ['api'], (container) =>
  settingOf(container, 'tlsCertFile') === undefined
    ? {
        line: LINES.apiTraffic,
        what: 'without --tls-cert-file it serves HTTP alone, and its callers’ tokens can be read on the way',
        todo: 'add --tls-cert-file, --tls-key-file and their volume, as kustomize/base/api has them',
      }
    : undefined,
)

export const apiAddressChecks: readonly Check[] = [addresses, clients, server]
