import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { grantAccess } from './access.ts'

test('ADAPTER-52: only listed variables and files are there, and no link leads out', async () => {
  const home = await mkdtemp(join(tmpdir(), 'muster-access-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const listed = join(home, 'listed')
  await mkdir(listed)
  await writeFile(join(home, 'secret'), 'secret')
  await writeFile(join(listed, 'token'), 'token')
  await symlink(join(home, 'secret'), join(listed, 'link'))
  const access = grantAccess({ variables: ['REGION', 'UNSET'], files: [listed], env: { REGION: 'eu', PASSWORD: 'x' } })

  expect(access.environment).toEqual({ REGION: 'eu' })
  expect(await access.readFile(join(listed, 'token'))).toBe('token')
  await expect(access.readFile(join(home, 'secret'))).rejects.toThrow('not among the files that tasks may read')
  await expect(access.readFile(`${listed}/../secret`)).rejects.toThrow('not among the files that tasks may read')
  await expect(access.readFile(join(listed, 'link'))).rejects.toThrow('a link leads out of the listed folder')
  expect(access.fileRefusal(`${listed}-other/token`)).toContain('list its folder in --adapter-files')
})

test('a file beside the manager’s token is refused with that for its reason, also where its folder is listed', async () => {
  const access = grantAccess({
    variables: [],
    files: ['/var/run'],
    hyperfleetApi: { url: 'http://api', tokenFile: '/var/run/tokens/token' },
    env: {},
  })
  expect(access.fileRefusal('/var/run/tokens/other')).toContain("in the folder of the manager's token")
  expect(access.fileRefusal('/var/run/elsewhere/other')).toBeUndefined()
})
