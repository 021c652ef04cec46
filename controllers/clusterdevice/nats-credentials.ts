import type { Authenticator } from '@nats-io/transport-node'
import { readAuthenticator } from '#services/agent/index.ts'
import type { ClusterDeviceOptions } from './options.ts'

/** @throws CredentialsError */
export const readClusterAuthenticator = ({ nats }: ClusterDeviceOptions): Promise<Authenticator | undefined> =>
  readAuthenticator({ creds: nats.credentials, token: undefined })
