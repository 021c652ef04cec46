import type { Registry } from 'prom-client'
import type { FleetViewRef } from '#apis/fleet.nationtech.io/fleet-view.ts'
import type { DeviceKeyFolder } from '#apis/fleet.nationtech.io/kv/device-keys.ts'
import type { FleetKeyFile } from '#apis/fleet.nationtech.io/kv/key-file.ts'
import type { NatsAccess } from '#lib/nats/connection.ts'

export interface FleetOptions {
  readonly nats: Omit<NatsAccess, 'name'>
  /** The namespace whose Deployments it works on; all when undefined. */
  readonly namespace: string | undefined
  /** Labels that devices choose themselves, and by them their Deployments; none by default. FLEET-93. */
  readonly deviceLabels?: readonly string[]
  /** What entries are signed by; undefined where they are not. FLEET-103. */
  readonly signingKeys?: FleetKeyFile | undefined
  /** By which devices sign what they say; undefined where that is not asked for. FLEET-122. */
  readonly deviceKeys?: DeviceKeyFolder | undefined
  /** Where the Lease is that replicas share. */
  readonly leaseNamespace: string
  readonly identity: string
  readonly registry: Registry
  /** Where others in this process find the view of the fleet. */
  readonly viewRef?: FleetViewRef
}
