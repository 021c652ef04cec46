import { expect, test } from 'vitest'
import { decideCopy, type NamedRecord, type TargetState } from './decide-copy.ts'

const EMPTY: TargetState = { copiedDigest: undefined, isThere: false, isArchived: false, nameHolder: undefined }
const owner = (state: NamedRecord['state']): NamedRecord => ({ role: 'owner', id: 'o', state })

// API-131, API-132
test.each<[string, Partial<TargetState>, readonly NamedRecord[], string | undefined, string]>([
  ['is not there', {}, [owner('here')], undefined, 'copy'],
  ['was copied before', { copiedDigest: 'now', isThere: true }, [owner('missing')], undefined, 'compare'],
  ['was deleted since', { copiedDigest: 'now' }, [], undefined, 'leave deleted'],
  ['was changed in the source and deleted here', { copiedDigest: 'old' }, [], undefined, 'leave deleted'],
  ['was changed in the source', { copiedDigest: 'old', isThere: true }, [], undefined, 'it has changed in the source'],
  ['has the id of another', { isThere: true }, [], undefined, 'its id is in the target already'],
  ['has the id of one in the archive', { isArchived: true }, [], undefined, 'its id is in the target already'],
  ['can not be carried over', {}, [owner('missing')], 'its kind is not configured', 'its kind is not configured'],
  ['has no owner here', {}, [owner('missing')], undefined, 'its owner o is not in the target'],
  ['has an owner in deletion', {}, [owner('deleting')], undefined, 'its owner o is in deletion'],
  ['has a name that is taken', { nameHolder: 'h' }, [owner('here')], undefined, 'its name is taken in the target by h'],
])('a record that %s', (_title, state, named, obstacle, expected) => {
  const decision = decideCopy('now', { ...EMPTY, ...state }, named, obstacle)
  expect(decision.action === 'refuse' ? decision.reason : decision.action).toContain(expected)
})
