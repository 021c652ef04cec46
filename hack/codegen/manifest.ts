import { dump } from 'js-yaml'
import { NOTICE } from './generated.ts'

/** Kubernetes objects as one YAML text that says where it comes from. */
export const manifest = (...objects: readonly object[]): string =>
  `# ${NOTICE}\n${objects.map((object) => dump(object, { lineWidth: 120, noRefs: true })).join('---\n')}`
