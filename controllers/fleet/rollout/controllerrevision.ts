/**
 * How a revision is kept: as a ControllerRevision of apps/v1, owned by its Deployment, so that it goes with it. Pure.
 *
 * Its name is made of the owner and the number, not of the content. So when two operators take different workloads for
 * revision 5, the API server takes the first and answers the other AlreadyExists: it reads again. FLEET-48.
 */

import { createHash } from 'node:crypto'
import { digestOf, isCount } from '#apis/fleet.nationtech.io/kv/envelope.ts'
import { Deployment } from '#apis/fleet.nationtech.io/v1alpha1/deployment.ts'
import type { Score } from '#apis/fleet.nationtech.io/v1alpha1/score.ts'
import { errorOf } from '#lib/errors/error-of.ts'
import { isObject } from '#lib/json/is-object.ts'
import { apiVersionOf, type KubeObject, type ObjectMeta, type Resource } from '#operator/model/resource.ts'
import { FLEET_ERRORS } from '../errors.ts'
import type { Revision } from './revisions.ts'

/** Kubernetes: ControllerRevision of apps/v1, as far as it is used here. */
export interface ControllerRevisionObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Pick<ObjectMeta, 'name'> & Partial<ObjectMeta>
  readonly data?: unknown
  readonly revision: number
}

/** The handle; Kubernetes never changes the data of one that is there. */
export const ControllerRevision: Resource<KubeObject<never, never> & ControllerRevisionObject> = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  scope: 'Namespaced',
  subresources: [],
}

/** The label by which the revisions of a Deployment are found; its value is the Deployment's name. */
export const REVISION_LABEL = 'fleet.nationtech.io/deployment'

/** The Deployment whose revision it is, by its label. */
export const ownerOfRevision = ({
  metadata: { labels, namespace },
}: ControllerRevisionObject): readonly { readonly name: string; readonly namespace: string }[] => {
  const name = labels?.[REVISION_LABEL]
  return name === undefined || namespace === undefined ? [] : [{ name, namespace }]
}

type Owner = Pick<ObjectMeta, 'name' | 'namespace' | 'uid'>

/** `web-1a2b3c4d-5`: another Deployment of the same name, made anew, never meets the revisions of the one before. */
export const revisionName = ({ name, uid }: Pick<Owner, 'name' | 'uid'>, revision: number): string =>
  `${name}-${createHash('sha256').update(uid).digest('hex').slice(0, 8)}-${revision}`

/** What is to be created before anything of the revision is rolled out. */
export const buildControllerRevision = (owner: Owner, revision: Revision): ControllerRevisionObject => ({
  apiVersion: apiVersionOf(ControllerRevision),
  kind: ControllerRevision.kind,
  metadata: {
    name: revisionName(owner, revision.revision),
    ...(owner.namespace !== undefined && { namespace: owner.namespace }),
    labels: { [REVISION_LABEL]: owner.name },
    ownerReferences: [
      {
        apiVersion: apiVersionOf(Deployment),
        kind: Deployment.kind,
        name: owner.name,
        uid: owner.uid,
        controller: true,
      },
    ],
  },
  data: dataOf(revision),
  revision: revision.revision,
})

const dataOf = ({ generation, digest, score, refused }: Revision) => ({
  generation,
  digest,
  score,
  ...(refused !== undefined && { refused }),
})

/** A ControllerRevision that says something else than what was stored: it is left out, and stays where it is. */
export class RevisionError extends errorOf(FLEET_ERRORS, 'RevisionError') {
  constructor(name: string, problem: string) {
    super(
      `the ControllerRevision ${name} can't be used: ${problem}; nothing goes back to it, delete it when that is right`,
    )
  }
}

/**
 * The revision of a Deployment that an object keeps; undefined when it belongs to another one.
 * @throws RevisionError when its content is not what this operator writes
 */
export const parseRevision = (owner: Pick<Owner, 'uid'>, object: ControllerRevisionObject): Revision | undefined => {
  const { name, ownerReferences = [] } = object.metadata
  if (!ownerReferences.some(({ uid, controller }) => uid === owner.uid && controller === true)) return undefined
  const { data, revision } = object
  if (!isCount(revision) || revision === 0) throw new RevisionError(name, 'revision is no whole number from 1 on')
  if (!isObject(data)) throw new RevisionError(name, 'data is no object')
  const { generation, digest, score, refused } = data
  if (!isCount(generation)) throw new RevisionError(name, 'data.generation is no whole number from 0 on')
  if (!isObject(score)) throw new RevisionError(name, 'data.score is no object')
  if (digest !== digestOf(score)) throw new RevisionError(name, 'data.digest is not that of data.score')
  if (refused !== undefined && typeof refused !== 'string') throw new RevisionError(name, 'data.refused is no digest')
  return { revision, generation, digest, score: score as unknown as Score, ...(refused !== undefined && { refused }) }
}
