import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kubectl } from '#hack/cluster/kubectl.ts'
import type { State } from '#hack/cluster/named/state.ts'
import { findKubectl } from '#hack/cluster/programs.ts'
import { temporaryFolder } from '#hack/process/folder.ts'
import { isRunning } from '#hack/process/identity.ts'
import { guardGroup } from '#hack/process/reaper.ts'

const REPOSITORY = join(import.meta.dirname, '..', '..', '..')
const NAME = 'under-test'
let home = ''

const cluster = (...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const env = { ...process.env, XDG_STATE_HOME: home }
    const child = execFile(
      process.execPath,
      ['hack/cluster/cli.ts', ...args],
      { cwd: REPOSITORY, env },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })

const folder = () => join(home, 'muster', 'clusters', NAME)

const readState = async (): Promise<State> => JSON.parse(await readFile(join(folder(), 'state.json'), 'utf8')) as State

/** The cluster is made to outlive its command; it must not outlive this test. */
const guard = async (state: State): Promise<State> => {
  for (const { pid } of state.processes) guardGroup(pid)
  return state
}

beforeAll(async () => {
  home = await temporaryFolder('state')
})
afterAll(() => cluster('stop', '--name', NAME))

test('a cluster is started, corrected and stopped by its name', async () => {
  expect(await cluster('status', '--name', NAME)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('is not running'),
  })
  expect((await cluster('start', '--name', NAME)).code).toBe(0)
  const first = await guard(await readState())
  const again = await cluster('start', '--name', NAME)
  expect(again).toMatchObject({ code: 0, stderr: `"${NAME}" is running already.\n` })
  expect((await readState()).processes).toEqual(first.processes)

  const kubeconfig = (await cluster('kubeconfig', '--name', NAME)).stdout.trim()
  const run = () => kubectl(findKubectl() ?? 'kubectl', [`--kubeconfig=${kubeconfig}`])
  await run()(['create', 'configmap', 'kept'])

  const apiserver = first.processes.find(({ part }) => part === 'kube-apiserver')
  process.kill(apiserver?.pid ?? 0, 'SIGKILL')
  const broken = await cluster('status', '--name', NAME)
  expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('is broken: kube-apiserver') })

  expect((await cluster('start', '--name', NAME)).code).toBe(0)
  const second = await guard(await readState())
  expect(await Promise.all(first.processes.map(isRunning))).toEqual(first.processes.map(() => false))
  expect(await run()(['get', 'configmap', 'kept', '-o', 'name'])).toBe('configmap/kept\n')

  expect(await cluster('stop', '--name', NAME)).toMatchObject({
    code: 0,
    stderr: `"${NAME}" is stopped and removed.\n`,
  })
  expect(await Promise.all(second.processes.map(isRunning))).toEqual(second.processes.map(() => false))
  expect(existsSync(folder())).toBe(false)
  expect(await cluster('stop', '--name', NAME)).toMatchObject({ code: 0, stderr: `"${NAME}" is not running.\n` })
})

test("no other user can read a cluster's credentials", async () => {
  await cluster('start', '--name', NAME)
  await guard(await readState())
  const mode = async (file: string) => ((await stat(join(folder(), file))).mode & 0o777).toString(8)
  expect(await mode('.')).toBe('700')
  for (const file of ['tokens.csv', 'service-account.key', 'kubeconfig', 'kwok.kubeconfig'])
    expect(await mode(file)).toBe('600')
})

test('a name that could leave the state folder is refused', async () => {
  const { code, stderr } = await cluster('start', '--name', '../x')
  expect(code).not.toBe(0)
  expect(stderr).toContain('lower case letters, digits and dashes')
})
