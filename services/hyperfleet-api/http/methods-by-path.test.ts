import { expect, test } from 'vitest'
import { methodsByPath } from './methods-by-path.ts'

const allowedAt = (path: string, ...operations: readonly (readonly ['GET' | 'POST' | 'DELETE', string])[]) =>
  methodsByPath(operations.map(([method, path]) => ({ method, path }))).get(path)

test('a path takes what its operations take and refuses the rest', () => {
  expect(allowedAt('/clusters', ['POST', '/clusters'], ['GET', '/clusters'], ['DELETE', '/clusters/{id}'])).toEqual({
    allowed: ['GET', 'POST'],
    rejected: ['PUT', 'PATCH', 'DELETE', 'OPTIONS'],
  })
})

test('a path that another one covers takes what that one takes too, not the other way round', () => {
  const operations = [
    ['GET', '/x/{id}/statuses/history'],
    ['DELETE', '/x/{id}/statuses/{adapter}'],
  ] as const
  expect(allowedAt('/x/{id}/statuses/history', ...operations)?.allowed).toEqual(['GET', 'DELETE'])
  expect(allowedAt('/x/{id}/statuses/{adapter}', ...operations)?.allowed).toEqual(['DELETE'])
})
