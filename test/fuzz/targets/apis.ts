import { readConsumerRequest } from '#apis/fleet.nationtech.io/kv/device-consumer.ts'
import { seal } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { readDeviceKey, verifyInfo } from '#apis/fleet.nationtech.io/kv/info-signature.ts'
import { parseDeviceKey, parsePlacementKey, placementKey } from '#apis/fleet.nationtech.io/kv/keys.ts'
import { MalformedEntry } from '#apis/fleet.nationtech.io/kv/malformed.ts'
import { desiredCodec, heartbeatCodec, infoCodec, stateCodec } from '#apis/fleet.nationtech.io/kv/payload.ts'
import { FleetKeyError, readPublicKeys, readSigningKeys } from '#apis/fleet.nationtech.io/kv/signing-keys.ts'
import { AdminKubeconfigError, parseAdminKubeconfig, serverOf } from '#apis/hive.openshift.io/model/admin-kubeconfig.ts'
import {
  type Customization,
  CustomizationError,
  customizeInstallConfig,
  customizeSpec,
  validateCustomization,
} from '#apis/hive.openshift.io/model/customization.ts'
import {
  InstallConfigError,
  parseInstallConfig,
  printInstallConfig,
} from '#apis/hive.openshift.io/model/install-config.ts'
import { parseTaskAccounts } from '#apis/hyperfleet.redhat.com/task-accounts.ts'
import { findExcess } from '#lib/json/size.ts'
import type { Json } from '#lib/json-patch/json.ts'
import { quoteValue } from '#lib/text/quote.ts'
import { ofTexts, ofValues } from '../target.ts'
import { sameAgain } from './same-again.ts'

const CODECS = [desiredCodec, stateCodec, infoCodec, heartbeatCodec]

const ENTRIES = { file: 'apis/fleet.nationtech.io/kv/payload.ts', refuses: [MalformedEntry] }

/** What devices and NATS say, what people write into Secrets and customizations. */
export const APIS = [
  ofTexts({
    ...ENTRIES,
    reads: ['desiredCodec', 'stateCodec', 'infoCodec', 'heartbeatCodec'],
    corpus: 'values',
    read(text) {
      const refusals = CODECS.map((codec) => {
        try {
          codec.decode(Buffer.from(text, 'latin1'))
        } catch (error) {
          return error
        }
        return undefined
      })
      for (const refusal of refusals) if (refusal !== undefined && !(refusal instanceof MalformedEntry)) throw refusal
    },
  }),
  ofValues({
    ...ENTRIES,
    reads: ['desiredCodec', 'stateCodec', 'infoCodec', 'heartbeatCodec'],
    from: 'anyone',
    corpus: 'entries',
    read(payload) {
      const bytes = sealed(payload)
      const isDeep = findExcess([payload as Json]) !== undefined
      for (const codec of CODECS) {
        const again = () => codec.encode(codec.decode(bytes).payload as never, 1)
        try {
          const { payload: read } = codec.decode(bytes)
          if (!isDeep) sameAgain(codec.decode(again()).payload, read)
        } catch (error) {
          if (!(error instanceof MalformedEntry)) throw error
        }
      }
    },
  }),
  ofTexts({
    file: 'apis/fleet.nationtech.io/kv/keys.ts',
    reads: ['parsePlacementKey', 'parseDeviceKey'],
    corpus: 'keys',
    refuses: [MalformedEntry],
    read(text) {
      if (text.includes('.')) sameAgain(placementKey(parsePlacementKey(text)), text)
      else sameAgain(parseDeviceKey(text), text)
    },
  }),
  ofTexts({
    file: 'apis/fleet.nationtech.io/kv/signing-keys.ts',
    reads: ['readSigningKeys', 'readPublicKeys'],
    corpus: 'pem',
    refuses: [FleetKeyError],
    read(text) {
      if (text.includes('PRIVATE')) readSigningKeys(text)
      else readPublicKeys(text)
    },
  }),
  // A key of a device, and a signature that may be of it.
  ofTexts({
    file: 'apis/fleet.nationtech.io/kv/info-signature.ts',
    reads: ['readDeviceKey'],
    corpus: 'device-keys',
    refuses: [],
    read(text) {
      const [nkey = '', header = ''] = text.split(' ')
      const key = readDeviceKey(nkey)
      if (key !== undefined) verifyInfo(key, 'pump', Buffer.from(text), header)
    },
  }),
  ofTexts({
    file: 'apis/hive.openshift.io/model/admin-kubeconfig.ts',
    reads: ['parseAdminKubeconfig'],
    corpus: 'kubeconfigs',
    refuses: [AdminKubeconfigError],
    read: (text) => void serverOf(parseAdminKubeconfig({ text, secret: 's' })),
  }),
  ofTexts({
    file: 'apis/hive.openshift.io/model/install-config.ts',
    reads: ['parseInstallConfig'],
    corpus: 'install-configs',
    refuses: [InstallConfigError],
    read(text) {
      const config = parseInstallConfig(text)
      sameAgain(parseInstallConfig(printInstallConfig(config)), config)
    },
  }),
  ofValues({
    file: 'apis/hive.openshift.io/model/customization.ts',
    reads: ['customizeInstallConfig', 'customizeSpec', 'validateCustomization'],
    from: { kind: 'hive.openshift.io_clusterdeploymentcustomizations', field: 'spec' },
    corpus: 'customizations',
    refuses: [CustomizationError],
    read(value) {
      const customization = { ...(value as Omit<Customization, 'name'>), name: 'one' }
      validateCustomization(customization)
      customizeInstallConfig({ metadata: { name: 'a' } }, [customization])
      customizeSpec({ clusterName: 'a' }, [customization])
    },
  }),
  ofTexts({
    file: 'apis/hyperfleet.redhat.com/task-accounts.ts',
    reads: ['parseTaskAccounts'],
    corpus: 'flags',
    refuses: [Error],
    read: (text) => void parseTaskAccounts(text),
  }),
  ofValues({
    file: 'apis/fleet.nationtech.io/kv/device-consumer.ts',
    reads: ['readConsumerRequest'],
    from: 'anyone',
    corpus: 'consumer-requests',
    refuses: [],
    read(value) {
      const { subject, body } = (value ?? {}) as { readonly subject?: unknown; readonly body?: unknown }
      // A subject is a text: of anything else NATS knows none.
      const request = readConsumerRequest(typeof subject === 'string' ? subject : '', () => body)
      // Whatever it asks for, a device hears at its own inbox alone.
      if (request.verb === 'Create') sameAgain(request.deliverSubject.startsWith(`_INBOX.${request.device}.`), true)
    },
  }),
]

/** With its right digest where it can have one. */
const sealed = (payload: unknown): Uint8Array => {
  try {
    return seal(payload as object, 1)
  } catch {
    return Buffer.from(JSON.stringify({ schema: 1, generation: 1, digest: '', payload: quoteValue(payload) }))
  }
}
