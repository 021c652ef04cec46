// Keeps a Secret beside every ConfigMap with the label `password: wanted`, and makes it anew when it is deleted.
import { randomBytes } from 'node:crypto'
import { controller } from 'muster/operator'
import { ConfigMap, Secret } from './kinds.ts'
import { run } from './run.ts'

const passwords = controller(ConfigMap, { name: 'passwords' })

// A Secret wakes the ConfigMap of its name.
passwords.watches(Secret, ({ metadata }) => [metadata], { labelSelector: 'made-by=passwords' })

passwords.reconcile(
  async ({ object, name, namespace, api }) => {
    if ((await api.get(Secret, name, namespace)) !== undefined) return
    const { apiVersion, kind, metadata } = object
    await api.create(Secret, {
      metadata: {
        name,
        ...(namespace !== undefined && { namespace }),
        labels: { 'made-by': 'passwords' },
        ownerReferences: [{ apiVersion, kind, name, uid: metadata.uid }],
      },
      data: { password: randomBytes(16).toString('base64') },
    })
    console.log(`made a password for ${name}`)
  },
  { labels: { password: 'wanted' } },
)

await run(passwords)
