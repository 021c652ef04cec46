/** What comes from Kubernetes, by the watches of the runtime: Deployments with their revisions, and Devices. */
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import { Device } from '#apis/fleet.nationtech.io/v1alpha1/device.ts'
import type { ObjectListener, SourceContext } from '#operator/engine/context.ts'
import type { KubeObject, Resource } from '#operator/model/resource.ts'
import type { DeploymentCache } from '../cache/deployments.ts'
import type { DeviceCache } from '../cache/devices.ts'
import { ControllerRevision } from '../rollout/controllerrevision.ts'
import type { Feed } from '../state/sync-state.ts'
import type { SourceListener } from './source-listener.ts'

export interface KubernetesSourceOptions {
  readonly deployments: DeploymentCache
  readonly devices: DeviceCache
  readonly listener: SourceListener
}

/** Until the source ends. All three kinds were read to their end when this returns. */
export const followKubernetes = (
  { deployments, devices, listener }: KubernetesSourceOptions,
  follow: SourceContext['follow'],
): void => {
  const followKind = <O extends KubeObject>(
    resource: Resource<O>,
    feed: Feed,
    { seen, deleted }: Pick<ObjectListener<O>, 'seen' | 'deleted'>,
  ): void => {
    const andChanged = (update: (object: O) => void) => (object: O) => {
      update(object)
      listener.changed()
    }
    listener.syncChanged(feed, { type: 'Replayed' })
    follow(resource, {
      seen: andChanged(seen),
      deleted: andChanged(deleted),
      watchProblem: (problem) =>
        listener.syncChanged(feed, problem ? { type: 'Lost', problem: problem.message } : { type: 'Replayed' }),
    })
  }
  // Revisions first: a Deployment of which none is known gets its first one.
  followKind(ControllerRevision, 'revisions', {
    seen: (object) => deployments.revisionSeen(object),
    deleted: (object) => deployments.revisionDeleted(object),
  })
  followKind(Deployment, 'deployments', {
    seen: (object) => deployments.seen(object),
    deleted: (object) => deployments.deleted(object),
  })
  followKind(Device, 'devices', {
    seen: (object) => devices.seen(object),
    deleted: (object) => devices.deleted(object),
  })
}
