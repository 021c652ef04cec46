import { describe, expect, test } from 'vitest'
import { scoreOf } from '#test/worlds/fleet/builders.ts'
import { buildControllerRevision, parseRevision, revisionName } from './controllerrevision.ts'
import { findOrBuildRevision } from './revisions.ts'

const web = { name: 'web', namespace: 'shop', uid: 'uid-of-web' }
const { revision } = findOrBuildRevision([], { generation: 4, score: scoreOf('web') }, undefined)

test('what is kept comes back as it was, also after the API server has written it as JSON', () => {
  expect(parseRevision(web, JSON.parse(JSON.stringify(buildControllerRevision(web, revision))))).toEqual(revision)
})

test('it stands beside its Deployment, with a label that finds it and an owner that takes it along', () => {
  expect(buildControllerRevision(web, revision).metadata).toMatchObject({
    namespace: 'shop',
    labels: { 'fleet.nationtech.io/deployment': 'web' },
    ownerReferences: [{ kind: 'Deployment', name: 'web', uid: 'uid-of-web' }],
  })
})

test('what was taken back is kept with the revision that brings the older workload back', () => {
  const back = { ...revision, revision: 2, refused: 'sha256:bad' }
  expect(parseRevision(web, JSON.parse(JSON.stringify(buildControllerRevision(web, back))))).toEqual(back)
})

// FLEET-48
test('the name depends on the owner and the number alone, so that two operators meet under it', () => {
  const other = { ...revision, score: scoreOf('other') }
  expect(buildControllerRevision(web, other).metadata.name).toBe(buildControllerRevision(web, revision).metadata.name)
  expect(revisionName(web, 5)).toMatch(/^web-[0-9a-f]{8}-5$/)
  expect(revisionName({ ...web, uid: 'anew' }, 5)).not.toBe(revisionName(web, 5))
})

test('the revisions of another Deployment, also of one with the same name, are not its own', () => {
  expect(parseRevision({ uid: 'anew' }, buildControllerRevision(web, revision))).toBeUndefined()
})

describe('what another client changed is refused, with the reason', () => {
  const kept = buildControllerRevision(web, revision)
  test.each<[string, object, string]>([
    ['no number', { ...kept, revision: 0 }, 'revision is no whole number from 1 on'],
    ['no data', { ...kept, data: undefined }, 'data is no object'],
    ['no score', { ...kept, data: { generation: 1 } }, 'data.score is no object'],
    ['no generation', { ...kept, data: {} }, 'data.generation is no whole number from 0 on'],
    [
      'another workload',
      { ...kept, data: { generation: 4, digest: revision.digest, score: scoreOf('other') } },
      'data.digest is not that of data.score',
    ],
  ])('%s', (_what, object, problem) => {
    expect(() => parseRevision(web, object as typeof kept)).toThrow(
      `the ControllerRevision ${kept.metadata.name} can't be used: ${problem}`,
    )
  })
})
