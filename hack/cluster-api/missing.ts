import { onPath } from '../cluster/programs.ts'

/** Why there is no Cluster API here, and what to do; undefined when there is one, or it can be built. Its kinds come with its Go modules. */
export const clusterApiMissing = (): string | undefined =>
  onPath('go') === undefined
    ? 'Cluster API is built with Go, and "go" is not on the PATH: install Go 1.26 (https://go.dev/dl)'
    : undefined
