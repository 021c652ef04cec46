import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CONTROL_PLANE } from '#hack/controlplane/binaries.ts'
import { ensureBinaries } from '#hack/gobuild/build.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../..')

/** Every folder that kustomize can build by itself, relative to the repository; components are built as part of overlays. */
export const kustomizations = (): string[] =>
  globSync('{kustomize,manifests}/**/kustomization.yaml', { cwd: root, exclude: ['kustomize/components/**'] })
    .map(dirname)
    .toSorted()

/** kubectl in the repository's folder, with what it says on both outputs: warnings come on standard error. */
export const kubectl = async (...args: readonly string[]): Promise<{ stdout: string; stderr: string }> =>
  run(join(await ensureBinaries(CONTROL_PLANE, console.error), 'kubectl'), args, { cwd: root })
