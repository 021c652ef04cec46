import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { fits } from './output.ts'
import { parsePage } from './page.ts'
import { runPage } from './shell.ts'

/** A page of one block of commands. @param before its comment @param after its output */
const run = (commands: string, before = '', after = ''): Promise<unknown> =>
  runPage(parsePage('docs/a.md', `${before}\n\`\`\`sh\n${commands}\n\`\`\`\n${after}`), { programs: [], printed: {} })

test('blocks share a shell, and what they start ends with them', async () => {
  const page = parsePage('docs/a.md', '```sh\nNAME=one\nsleep 600 &\n```\n```sh\ntest $NAME = one\nkill -0 %1\n```\n')
  await runPage(page, { programs: [], printed: {} })
})

test('a command that fails is told with what it said', async () => {
  await expect(run('echo before\nls /nowhere\necho after')).rejects.toThrow(
    /ended with exit code 2.*before.*\/nowhere/s,
  )
})

test('a command that shall fail and does not is told', async () => {
  await expect(run('true', '<!-- exits: 1 -->')).rejects.toThrow('ended with exit code 1')
  await run('false', '<!-- exits: 1 -->')
})

test('an answer that refuses is told unless the page says so', async () => {
  const server = createServer((_, response) => response.writeHead(403).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const get = `curl -s http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(run(get)).rejects.toThrow('refused is "403" instead of ""')
  await run(get, '<!-- refused: 403 -->')
  server.close()
})

test('a block beside the others is there until the end, and told when it ends before it is ready', async () => {
  await run('touch ready; exec sleep 600', '<!-- beside: test -f ready -->')
  await expect(run('true', '<!-- beside: test -f ready -->')).rejects.toThrow('ended with exit code 1')
})

test('other words than those that the page shows are told', async () => {
  await run('echo READY 12s', '', '```text\nREADY 3m4s\n```')
  await expect(run('echo NOT READY 12s', '', '```text\nREADY 3m4s\n```')).rejects.toThrow('instead of')
})

test('what is shown may leave lines and ends of lines out, and its figures may differ', () => {
  const printed = 'NAME    AGE\ncore    35s\nedge    1h2m\n'
  expect(fits('NAME AGE\nedge 7d', printed)).toBe(true)
  expect(fits('NAME …\ncore …', printed)).toBe(true)
  expect(fits('edge 7d\ncore 7d', printed)).toBe(false)
  expect(fits('edge', printed)).toBe(false)
})

test('an address that is shown is the one that is printed: figures in it are compared, those of its port are not', () => {
  expect(fits('10.20.0.1', '10.20.0.1\n')).toBe(true)
  expect(fits('10.20.0.1', '10.0.0.1\n')).toBe(false)
  expect(fits('serviceNetwork: [10.20.0.0/24]', 'serviceNetwork: [10.20.0.0/16]')).toBe(false)
  expect(fits('applied http://127.0.0.1:8480/v1/clusters', 'applied http://127.0.0.1:39211/v1/clusters')).toBe(true)
  expect(fits('Server Version: v1.36.3', 'Server Version: v1.36.4')).toBe(true)
  expect(fits('3.6.8.1.2', '3.6.8.1.3')).toBe(true)
})
