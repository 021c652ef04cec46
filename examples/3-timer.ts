// Deletes ConfigMaps whose annotation `expires-at` (RFC 3339) has passed; looks at each twice a second.
import { controller, PRESENT } from 'muster/operator'
import { ConfigMap } from './kinds.ts'
import { run } from './run.ts'

const expiry = controller(ConfigMap, { name: 'expiry' })

expiry.timer('expire', { every: '500ms', annotations: { 'expires-at': PRESENT } }, async ({ object, api, clock }) => {
  const { name, namespace, uid, annotations } = object.metadata
  if (Date.parse(annotations?.['expires-at'] ?? '') > clock.now().getTime()) return
  // Only this object: one that took its name in the meantime stays.
  await api.delete(ConfigMap, name, namespace, { uid })
  console.log(`${name} has expired`)
})

await run(expiry)
