import { dump } from 'js-yaml'
import type { HiveObject, Judgement } from './judge.ts'

export interface Judged {
  readonly object: HiveObject
  readonly judgement: Judgement
}

/**
 * Customizations and pools that can be applied at Muster now, as YAML documents: names, labels and specs. A pool makes nothing yet: its size is 0, and what it
 * is at Hive stands above it.
 * @param isNamespaced whether each names its namespace; those of one namespace need not, and go where they are applied
 */
export const writeManifests = (judged: readonly Judged[], isNamespaced: boolean): string =>
  judged
    .flatMap(({ object: { metadata }, judgement: { kind, name, namespace, spec } }) => {
      if (spec === undefined) return []
      const labels = metadata.labels === undefined ? {} : { labels: metadata.labels }
      const named = { name, ...(isNamespaced && { namespace }), ...labels }
      const document = { apiVersion: 'hive.openshift.io/v1', kind, metadata: named }
      if (kind !== 'ClusterPool') return [dump({ ...document, spec })]
      const { size, runningCount, ...rest } = spec
      const there = JSON.stringify({ size, runningCount })
      return [`# At Hive: ${there}\n${dump({ ...document, spec: { ...rest, size: 0 } })}`]
    })
    .map((document) => `---\n${document}`)
    .join('')
