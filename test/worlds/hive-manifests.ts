import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { ControlPlane } from '#test/harness/index.ts'

/** Applies manifests as a person does, refusing fields that are not known. @param manifests with NAMESPACE where the namespace belongs */
export const applyStrictly = async (
  { plane, namespace }: { readonly plane: Pick<ControlPlane, 'kubectl'>; readonly namespace: string },
  manifests: string,
): Promise<void> => {
  const file = join(await temporaryFolder('hive'), 'manifests.yaml')
  await writeFile(file, manifests.replaceAll('NAMESPACE', namespace))
  await plane.kubectl('apply', '--validate=strict', '--filename', file)
}
