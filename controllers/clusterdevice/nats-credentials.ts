import type { Authenticator } from '@nats-io/transport-node'
import { authenticatorOf } from '#services/agent/index.ts'
import type { ClusterDeviceDeps } from './options.ts'

/** @throws CredentialsError */
export const authenticatorFor = ({ nats }: ClusterDeviceDeps): Promise<Authenticator | undefined> =>
  authenticatorOf({ creds: nats.credentials, token: undefined })
