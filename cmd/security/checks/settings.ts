/** What the API and the managers are told by their flags. SECURITY-6. */
import { LINES } from '../lines.ts'
import { type Check, type Container, NAMESPACE, TASK_ACCOUNTS_NAMESPACE } from '../model.ts'
import { settingOf, settingsCheck } from './setting.ts'

const apiAuthentication = settingsCheck('api-authentication', ['api'], (container) => {
  const isOn = (settingOf(container, 'authKubernetes') ?? 'false') !== 'false'
  const issuer = settingOf(container, 'authIssuer')
  // Issuers may stand in its configuration file: without one, the API serves its own machine alone.
  if (isOn || issuer !== undefined || settingOf(container, 'config') !== undefined) return undefined
  return {
    line: LINES.api,
    what: 'it has neither --auth-kubernetes nor --auth-issuer, and so asks for no token',
    todo: 'add --auth-kubernetes, as kustomize/base/api has it',
  }
})

const apiDefaultRoles = settingsCheck('api-default-roles', ['api'], (container) => {
  const roles = settingOf(container, 'authDefaultRoles') ?? ''
  if (roles === '') return undefined
  return {
    line: LINES.tenant,
    what: `every token has the roles ${roles}`,
    todo: 'take out --auth-default-roles, and name subjects and groups in MUSTER_AUTH_ROLES',
  }
})

/** A ServiceAccount of Muster's namespace with the role admin, that of the overlay dev included, so that people there are told what it costs. */
const EDITORS_ADMINISTRATOR = new RegExp(`^(system:serviceaccount:${NAMESPACE}:[^=]+)=(.*\\+)?\\s*admin\\s*(\\+|$)`)

const apiAdministrators = settingsCheck('api-administrators', ['api'], (container) => {
  const mappings = (settingOf(container, 'authRoles') ?? '').split(',').map((mapping) => mapping.trim())
  const account = mappings
    .map((mapping) => EDITORS_ADMINISTRATOR.exec(mapping)?.[1])
    .find((found) => found !== undefined)
  if (account === undefined) return undefined
  return {
    line: LINES.administrator,
    what: `${account} has the role admin, and so has who may make tokens in ${NAMESPACE}, as editors may`,
    todo: 'use kustomize/components/api-admin, which has an account in a namespace of its own',
  }
})

const controllersOf = (container: Container): readonly string[] =>
  settingOf(container, 'controllers')?.split(',') ?? ['adapter']

const taskIdentity = settingsCheck('task-identity', ['manager'], (container) => {
  if (!controllersOf(container).includes('adapter') || settingOf(container, 'adapterTokenAudience') !== undefined)
    return undefined
  return {
    line: LINES.adapter,
    what: 'without --adapter-token-audience every task shows the HyperFleet API the same token',
    todo: 'add --adapter-token-audience=hyperfleet-api, as kustomize/adapter has it',
  }
})

/** SECURITY-9. */
const taskAccounts = settingsCheck('task-accounts', ['manager'], (container) => {
  const namespace = settingOf(container, 'adapterAccountsNamespace') ?? NAMESPACE
  if (!controllersOf(container).includes('adapter') || namespace === TASK_ACCOUNTS_NAMESPACE) return undefined
  return {
    line: LINES.taskAccount,
    what:
      namespace === NAMESPACE
        ? `without --adapter-accounts-namespace tasks act as accounts of ${NAMESPACE}, and Muster’s own are among them`
        : `tasks act as accounts of ${namespace}, and the admission policies ask for the right to act as those of ${TASK_ACCOUNTS_NAMESPACE}`,
    todo: `write --adapter-accounts-namespace=${TASK_ACCOUNTS_NAMESPACE}, as kustomize/adapter has it, and make the accounts there`,
  }
})

const apiTaskAccounts = settingsCheck('api-task-accounts', ['api'], (container) => {
  const listed = (settingOf(container, 'authTaskAccounts') ?? '').split(',').map((text) => text.split('=')[0]?.trim())
  if (!listed.includes(NAMESPACE)) return undefined
  return {
    line: LINES.adapter,
    what: `every account of ${NAMESPACE} without another role reports for the adapter of its name`,
    todo: `write MUSTER_AUTH_TASK_ACCOUNTS=${TASK_ACCOUNTS_NAMESPACE}=${NAMESPACE}, as kustomize/base/api has it`,
  }
})

/** SECURITY-12. */
const entrySigning = settingsCheck('entry-signing', ['manager'], (container) => {
  if (!controllersOf(container).includes('fleet') || settingOf(container, 'fleetSigningKeys') !== undefined)
    return undefined
  return {
    line: LINES.entries,
    what: 'without --fleet-signing-keys no entry is signed, and devices can’t tell whether an entry is the operator’s',
    todo: 'add --fleet-signing-keys and its volume, as kustomize/fleet has them, then enroll the devices with --fleet-public-keys',
  }
})

/** SECURITY-26. */
const infoKeys = settingsCheck('info-keys', ['manager'], (container) => {
  if (!controllersOf(container).includes('fleet') || settingOf(container, 'fleetDeviceKeys') !== undefined)
    return undefined
  return {
    line: LINES.entries,
    what: 'without --fleet-device-keys what opens NATS says what a device is, and by that which Deployments it gets',
    todo: 'add --fleet-device-keys and its volume, as kustomize/fleet has them',
  }
})

/** Where Kubernetes and our manifests put tokens and keys. */
const SECRET_FOLDERS = ['/var/run/secrets', '/run/secrets', '/etc/nats', '/etc/muster-nats']

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

const taskFiles = settingsCheck('task-files', ['manager'], (container) => {
  const paths = (settingOf(container, 'adapterFiles') ?? '').split(',').filter((path) => path !== '')
  const wide = paths.find((path) =>
    SECRET_FOLDERS.some((folder) => isWithin(folder, path.replace(/(?<=.)\/$/, '')) || isWithin(path, folder)),
  )
  if (wide === undefined) return undefined
  return {
    line: LINES.taskFiles,
    what: `tasks may read ${wide}, where tokens and keys are`,
    todo: 'name in --adapter-files only what is meant for tasks',
  }
})

const natsTls = settingsCheck('nats-clients', ['api', 'manager'], (container) => {
  const urls = ['natsUrl', 'adapterNatsServers'].flatMap((name) => settingOf(container, name)?.split(',') ?? [])
  const plain = urls.find((url) => url.trim().startsWith('nats://'))
  if (plain === undefined || settingOf(container, 'natsCa') !== undefined) return undefined
  return {
    line: LINES.nats,
    what: `it speaks to ${plain} without TLS, and shows its key to any server that answers`,
    todo: 'write tls:// and --nats-ca',
  }
})

export const settingsChecks: readonly Check[] = [
  apiAuthentication,
  apiDefaultRoles,
  apiAdministrators,
  taskIdentity,
  taskAccounts,
  apiTaskAccounts,
  taskFiles,
  entrySigning,
  infoKeys,
  natsTls,
]
