/** What comes from Kubernetes: Deployments with their revisions, and Devices. */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { Api } from '#operator/client/api.ts'
import { type ReflectorEvent, reflect } from '#operator/client/reflector.ts'
import { describe, type WatchFailure } from '#operator/client/watch.ts'
import type { Clock } from '#operator/model/clock.ts'
import type { Logger } from '#operator/model/log.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { DeploymentCache } from '../cache/deployments.ts'
import type { DeviceCache } from '../cache/devices.ts'
import { ControllerRevision, REVISION_LABEL } from '../rollout/controllerrevision.ts'
import type { Feed } from '../state/sync-state.ts'
import type { SourceListener } from './source-listener.ts'

export interface KubernetesSourceOptions {
  /** The namespace whose Deployments it reads; all when undefined. */
  readonly namespace: string | undefined
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  readonly listener: SourceListener
  readonly api: Api
  readonly clock: Clock
  readonly log: Logger
}

/** The watches, each until the signal aborts. */
export const followKubernetes = (options: KubernetesSourceOptions, signal: AbortSignal): readonly Promise<void>[] => {
  const { namespace, deployments, devices, listener } = options
  /** Without its revisions it is unknown what of a Deployment is rolled out. */
  let isHalfRead = false
  const read = () => {
    if (isHalfRead) {
      deployments.allRead()
      listener.syncChanged('deployments', { type: 'Replayed' })
    }
    isHalfRead = true
  }
  return [
    follow(options, signal, {
      resource: Deployment,
      feed: 'deployments',
      where: { namespace },
      read,
      there: (object) => deployments.seen(object),
      gone: (object) => deployments.deleted(object),
    }),
    follow(options, signal, {
      resource: ControllerRevision,
      feed: 'deployments',
      where: { namespace, labelSelector: REVISION_LABEL },
      read,
      there: (object) => deployments.revisionSeen(object),
      gone: (object) => deployments.revisionDeleted(object),
    }),
    follow(options, signal, {
      resource: Device,
      feed: 'devices',
      where: {},
      read: () => listener.syncChanged('devices', { type: 'Replayed' }),
      there: (object) => devices.seen(object),
      gone: (object) => devices.deleted(object),
    }),
  ]
}

interface Followed<O extends KubeObject> {
  readonly resource: Resource<O>
  readonly feed: Feed
  readonly where: { readonly namespace?: string | undefined; readonly labelSelector?: string }
  /** The end of what was there is reached; again after each gap. */
  read(): void
  there(object: O): void
  gone(object: O): void
}

const follow = <O extends KubeObject>(
  { api, clock, log, listener }: KubernetesSourceOptions,
  signal: AbortSignal,
  { resource, feed, where, read, there, gone }: Followed<O>,
): Promise<void> => {
  let isRead = false
  let isLost = false
  const { stopped } = reflect(api.transport, resource, {
    ...where,
    clock,
    log,
    signal,
    onEvent: (event: ReflectorEvent<O>) => {
      if (event.type === 'synced') {
        isRead = true
        read()
      } else if (event.type === 'deleted') gone(event.object)
      else there(event.object)
      listener.changed()
    },
    onHealth: (failure) => {
      const problem = problemOf(failure)
      if (problem !== undefined) {
        log.warn(problem, { kind: resource.kind })
        listener.syncChanged(feed, { type: 'Lost', problem })
        isLost = true
      } else if (isLost && isRead && failure === undefined) {
        listener.syncChanged(feed, { type: 'Replayed' })
        isLost = false
      }
    },
  })
  return stopped
}

const problemOf = (failure: WatchFailure | undefined): string | undefined =>
  failure?.cause === 'refused' || failure?.cause === 'broken' ? describe(failure)[1] : undefined
