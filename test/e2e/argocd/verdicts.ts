/** What Argo CD’s own program makes of an object with our scripts: `argocd admin settings resource-overrides`. */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, vi } from 'vitest'
import { temporaryFolder } from '#hack/process/folder.ts'
import type { KubeObject } from '#operator/index.ts'
import { runLua } from '#test/harness/lua.ts'
import { type GitOpsWorld, PATIENCE } from './world.ts'

const run = promisify(execFile)

export interface Verdict {
  readonly status: string
  readonly message: string
}

export interface Overrides {
  /** By Argo CD’s own program, and by the engine of the unit tests: they must agree. */
  health(object: KubeObject): Promise<Verdict>
  /** As a person does it in Argo CD: once it is offered, what the script makes of the object is written. @param path in the API server */
  act(action: string, path: string): Promise<void>
}

/** @param world its Git has the settings, as Argo CD was given them */
export const overridesOf = async ({ argo, git, cluster }: GitOpsWorld): Promise<Overrides> => {
  const folder = await temporaryFolder('overrides')
  const settings = join(git.folder, 'manifests/argocd/settings.yaml')
  const ask = async (command: string, object: KubeObject): Promise<string> => {
    const file = join(folder, `${object.kind}-${object.metadata.name}.json`)
    await writeFile(file, JSON.stringify(object))
    const args = ['admin', 'settings', 'resource-overrides', command, file, `--argocd-cm-path=${settings}`]
    const env = { ...process.env, ARGOCD_BINARY_NAME: 'argocd' }
    return (await run(join(argo.binaries, 'argocd'), args, { env })).stdout
  }
  const offered = async (object: KubeObject): Promise<readonly string[]> =>
    (await ask('list-actions', object))
      .split('\n')
      .slice(1)
      .map((line) => line.split(/\s+/))
      .flatMap(([name = '', disabled]) => (disabled === 'false' ? [name] : []))
  return {
    health: async (object) => {
      const said = await ask('health', object)
      const verdict = { status: field(said, 'STATUS'), message: field(said, 'MESSAGE') }
      expect(await runLua<Verdict>('health.lua', object)).toEqual(verdict)
      return verdict
    },
    act: (action, path) =>
      // Again when a controller has written in between.
      vi.waitFor(async () => {
        const object = await cluster.rest<KubeObject>('GET', path)
        const actions = await offered(object)
        if (!actions.includes(action))
          throw new Error(`only ${actions.join(', ')} are offered for ${JSON.stringify(object)}`)
        const kind = `${object.apiVersion.split('/')[0]}_${object.kind}`
        await cluster.rest('PUT', path, await runLua<KubeObject>(`actions/${kind}/${action}.lua`, object))
      }, PATIENCE),
  }
}

const field = (said: string, name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(said)?.[1] ?? ''
