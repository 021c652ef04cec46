/** Kinds of Kubernetes that the examples use, each described once. */
import { defineResource, type KubeObject, type Resource } from 'muster/operator'

export interface ConfigMap extends KubeObject<undefined> {
  readonly data?: Readonly<Record<string, string>>
}

export const ConfigMap = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
  subresources: [],
}) as Resource<ConfigMap>

export interface Secret extends KubeObject<undefined> {
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
}

export const Secret = defineResource<undefined>({
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  scope: 'Namespaced',
  subresources: [],
}) as Resource<Secret>
